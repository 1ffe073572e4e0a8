import { afterEach, describe, expect, test } from 'vitest'
import { operations } from '../api/table.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { connected as connect, errorCode, type Connected } from '../../test/support/mcp.ts'
import { toolsFor } from './tools.ts'

const open: Connected[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})

async function connected(workspace?: string, { manager } = memoryCore()) {
  const one = await connect(manager, workspace)
  open.push(one)
  return { ...one, manager }
}

const home = [
  'create_workspace',
  'list_workspaces',
  'fork_workspace',
  'destroy_workspace',
  'exec',
  'read_file',
  'write_file',
  'list_files',
  'snapshot',
  'list_snapshots',
  'restore',
  'diff',
  'run',
  'get_run',
]

describe('what is offered', () => {
  test('the tools of a home, and of one workspace', async () => {
    const { client } = await connected()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(home)
    const one = await connected('task/agent')
    const own = (await one.client.listTools()).tools
    expect(own.map(({ name }) => name)).toEqual(
      home.filter((name) => !name.endsWith('_workspace') && name !== 'list_workspaces'),
    )
    for (const { inputSchema } of own) expect(Object.keys(inputSchema.properties ?? {})).not.toContain('id')
    expect(client.getServerVersion()).toMatchObject({ name: 'aw', version: '1.2.3' })
  })

  test('an agent of one workspace names no other, and does not choose its walls', () => {
    for (const { input } of toolsFor('task/agent')) {
      const fields = Object.keys(input.properties ?? {})
      const others = [
        'from_workspace',
        'repo',
        'folder',
        'template',
        'allow',
        'network',
        'isolation',
        'shared',
        'labels',
      ]
      expect(fields.filter((field) => others.includes(field))).toEqual([])
    }
  })

  test('what the kind of an operation says is in the annotations', () => {
    const hints = Object.fromEntries(toolsFor().map(({ name, annotations }) => [name, annotations]))
    const reads = ['list_workspaces', 'read_file', 'list_files', 'list_snapshots', 'diff', 'get_run']
    for (const name of home) expect([name, hints[name]?.readOnlyHint]).toEqual([name, reads.includes(name)])
    const destroys = ['destroy_workspace', 'restore', 'exec', 'run', 'write_file']
    for (const name of home) expect([name, hints[name]?.destructiveHint]).toEqual([name, destroys.includes(name)])
    expect(hints['exec']?.openWorldHint).toBe(true)
  })

  test('no field that is dangerous in the hands of an agent', () => {
    const never = [
      'isolation',
      'network',
      'shared',
      'force',
      'purge',
      'include_active',
      'include_leased',
      'record_prompt',
    ]
    for (const { input } of toolsFor())
      expect(Object.keys(input.properties ?? {}).filter((field) => never.includes(field))).toEqual([])
  })

  test('the text of a field is that of the operation', () => {
    const exec = operations.find(({ name }) => name === 'exec')
    const tool = toolsFor().find(({ name }) => name === 'exec')
    expect(tool?.input.properties?.['timeout_ms']).toEqual(exec?.input.properties?.['timeout_ms'])
    expect(tool?.input.required).toEqual(['argv', 'id'])
  })
})

describe('each tool answers what the core answers', () => {
  test('workspaces', async () => {
    const { ask, manager } = await connected()
    const made = await ask('create_workspace', { id: 'a/one', labels: { x: 'y' } })
    expect(await manager.call('show', { id: 'a/one' })).toMatchObject(made)
    const forked = await ask('fork_workspace', { id: 'a/one', to: ['a/two', 'a/three'] })
    expect(forked).toMatchObject({
      source: 'a/one',
      forks: [
        { name: 'a/two', ok: true },
        { name: 'a/three', ok: true },
      ],
    })
    const listed = await ask('list_workspaces', { task: 'a' })
    expect(await manager.call('list', { task: 'a' })).toMatchObject(listed['workspaces'] ?? [])
    expect(listed['next_cursor']).toBeNull()
    expect(await ask('destroy_workspace', { id: 'a/two' })).toMatchObject({
      removed: true,
      workspace: { state: 'trashed' },
    })
    expect(await ask('destroy_workspace', { id: 'a/two', if_exists: true })).toEqual({ removed: false })
    expect(await ask('list_workspaces', { trashed: true })).toMatchObject({ workspaces: [{ workspace_id: 'a/two' }] })
  })

  test('files', async () => {
    const { ask, manager } = await connected()
    await ask('create_workspace', { id: 'a' })
    const written = await ask('write_file', { id: 'a', path: 'work/x/y.txt', content: 'grüße\n' })
    expect(await manager.call('fs stat', { id: 'a', path: 'work/x/y.txt' })).toMatchObject(written)
    expect(await ask('read_file', { id: 'a', path: 'work/x/y.txt' })).toEqual({
      path: 'work/x/y.txt',
      encoding: 'utf-8',
      content: 'grüße\n',
      offset: 0,
      bytes: 8,
      size: 8,
    })
    await ask('write_file', { id: 'a', path: 'b.bin', content: '/wAB', encoding: 'base64' })
    expect(await ask('read_file', { id: 'a', path: 'b.bin' })).toMatchObject({ encoding: 'base64', content: '/wAB' })
    const list = await ask('list_files', { id: 'a', path: 'work' })
    expect((await manager.call('fs list', { id: 'a', path: 'work' })).entries).toMatchObject(list['entries'] ?? [])
    expect(await ask('list_files', { id: 'a', path: 'work', recursive: true })).toMatchObject({
      entries: [
        { path: 'work/x', kind: 'directory' },
        { path: 'work/x/y.txt', kind: 'file' },
      ],
    })
  })

  test('commands', async () => {
    const { ask } = await connected()
    await ask('create_workspace', { id: 'a' })
    expect(await ask('exec', { id: 'a', argv: ['echo', 'hello'] })).toMatchObject({
      workspace: 'a/main',
      code: 0,
      stdout: 'hello\n',
      stderr: '',
    })
    expect(await ask('exec', { id: 'a', argv: ['complain', 'oh'] })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'oh\n',
    })
    expect(await ask('exec', { id: 'a', argv: ['exit', '3'] })).toMatchObject({ code: 3 })
  })

  test('snapshots', async () => {
    const { ask, manager } = await connected()
    await ask('create_workspace', { id: 'a' })
    await ask('write_file', { id: 'a', path: 'work/f', content: 'one\n' })
    const kept = await ask('snapshot', { id: 'a', label: 'good' })
    await ask('write_file', { id: 'a', path: 'work/f', content: 'two\n' })
    const { snapshots } = await ask('list_snapshots', { id: 'a' })
    expect(await manager.call('snapshots', { id: 'a' })).toMatchObject(snapshots ?? [])
    expect(await ask('diff', { from: 'a@good', text: true })).toMatchObject({
      changes: [{ path: 'work/f', change: 'changed', text: expect.stringContaining('+two') as string }],
      next_cursor: null,
    })
    expect(await ask('restore', { id: 'a', snapshot: 'good' })).toMatchObject({ snapshot: kept['id'], changed: 1 })
    expect(await ask('read_file', { id: 'a', path: 'work/f' })).toMatchObject({ content: 'one\n' })
  })

  test('runs', async () => {
    const { ask, manager } = await connected()
    const ran = await ask('run', { id: 'job', argv: ['echo', 'done'] })
    expect(ran).toMatchObject({
      run: { workspace: 'job/main', state: 'completed', exit: { code: 0 } },
      stdout: 'done\n',
    })
    expect((await manager.call('runs', { id: 'job' }))[0]).toMatchObject(ran['run'] ?? {})
    expect(await ask('get_run', { id: 'job' })).toMatchObject({ run: ran['run'], output: 'done\n', next_cursor: null })
    await ask('run', { id: 'job', argv: ['sleep', '1'], detach: true })
    expect(await ask('get_run', { id: 'job', wait_ms: 1 })).toMatchObject({ run: { number: 2, ended_at: null } })
    expect(await ask('get_run', { id: 'job', wait_ms: 20_000 })).toMatchObject({
      run: { number: 2, state: 'completed' },
    })
    expect(await ask('get_run', { id: 'job', run: 1 })).toMatchObject({ run: { number: 1 }, output: 'done\n' })
  })

  test('of one workspace', async () => {
    const core = memoryCore()
    await core.manager.call('create', { id: 'own' })
    await core.manager.call('create', { id: 'other' })
    const { ask, call } = await connected('own', core)
    await ask('snapshot', { label: 'start' })
    await ask('write_file', { path: 'work/f', content: 'x' })
    expect(await ask('diff')).toMatchObject({ changes: [{ path: 'work/f', change: 'added' }] })
    expect(await ask('diff', { from: 'start' })).toMatchObject({ changes: [{ path: 'work/f' }] })
    expect(await ask('diff', { from: 'start', to: 'head' })).toMatchObject({ changes: [] })
    expect(await ask('exec', { argv: ['echo', 'in'] })).toMatchObject({ workspace: 'own/main', stdout: 'in\n' })
    expect(await ask('run', { argv: ['true'] })).toMatchObject({ run: { workspace: 'own/main' } })
    for (const [name, given] of [
      ['read_file', { id: 'other', path: 'x' }],
      ['exec', { id: 'other', argv: ['true'] }],
      ['run', { argv: ['true'], from_workspace: 'other' }],
      ['run', { argv: ['true'], folder: '/' }],
    ] as const)
      expect(errorCode(await call(name, given))).toBe('invalid_input')
    await expect(call('create_workspace', { id: 'new' })).rejects.toThrow('There is no tool "create_workspace"')
  })
})

describe('errors have our codes', () => {
  test.each([
    ['read_file', { id: 'nobody', path: 'x' }, 'workspace_not_found'],
    ['read_file', { id: 'a', path: 'x' }, 'file_not_found'],
    ['read_file', { id: 'a', path: '../x' }, 'path_traversal_attempt'],
    ['write_file', { id: 'a', path: 'x' }, 'invalid_input'],
    ['write_file', { id: 'a', path: 'x', content: '!', encoding: 'base64' }, 'invalid_input'],
    ['write_file', { id: 'a', path: 'x', contents: 'y', content: 'y' }, 'invalid_input'],
    ['create_workspace', { id: 'a' }, 'workspace_exists'],
    ['create_workspace', { id: '../../x' }, 'invalid_name'],
    ['fork_workspace', { id: 'a', to: ['a'] }, 'workspace_exists'],
    ['restore', { id: 'a', snapshot: 'nothing' }, 'snapshot_not_found'],
    ['destroy_workspace', { id: 'nobody' }, 'workspace_not_found'],
    ['exec', { id: 'a', argv: 'ls' }, 'invalid_input'],
    ['get_run', { id: 'a' }, 'run_not_found'],
    ['list_snapshots', { id: 'a', cursor: 'x' }, 'invalid_input'],
    ['diff', { from: 'a', cursor: '-1' }, 'invalid_input'],
    ['list_workspaces', { limit: 1_000_000 }, 'invalid_input'],
  ])('%s %j: %s', async (name, given, code) => {
    const { call, ask } = await connected()
    await ask('create_workspace', { id: 'a' })
    const answer = await call(name, given)
    expect(errorCode(answer)).toBe(code)
    // It would not be of the tool's output schema, which 1.x clients insist on.
    expect(answer.structuredContent).toBeUndefined()
  })

  test('a field that is misspelt is told the right one', async () => {
    const { call } = await connected()
    const { content } = await call('read_file', { id: 'a', pat: 'x', path: 'y' })
    expect(content).toMatchObject([
      { text: expect.stringMatching(/^invalid_input: .*\nDid you mean path\?$/) as string },
    ])
  })

  test('texts that would take minutes if they were read by trial and error', async () => {
    const { call, ask } = await connected()
    await ask('create_workspace', { id: 'a' })
    const content = `${' '.repeat(400_000)}!`
    expect(errorCode(await call('write_file', { id: 'a', path: 'x', content, encoding: 'base64' }))).toBe(
      'invalid_input',
    )
    await ask('write_file', { id: 'a', path: 'x', content: ' /w\n== \n', encoding: 'base64' })
    await expect(call('x'.repeat(2_000_000))).rejects.toThrow('There is no tool')
  })
})
