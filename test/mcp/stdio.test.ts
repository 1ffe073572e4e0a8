/** The real `aw mcp`, with a real client over standard input and output. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endBoxes } from '../support/end-boxes.ts'
import { errorCode } from '../support/mcp.ts'
import { place, type Place } from '../cli/built-command.ts'
import { firstSdkClient, initialize, stdioClient, toolCall, wire } from './stdio.ts'

let here: Place
beforeAll(() => {
  here = place()
})
afterAll(async () => {
  await endBoxes(here.home)
  here[Symbol.dispose]()
})

const json = (...args: readonly string[]): unknown => JSON.parse(here.aw(...args, '--json').stdout)
/** What the log says of the last command of a workspace. */
const lastCommand = (id: string): unknown => (json('history', id) as unknown[]).at(-1)

describe.each([
  ['2025', {}],
  ['2026', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
] as const)('a client of %s', (era, options) => {
  test('does a piece of work, and the command line sees the same', async () => {
    await using own = await stdioClient(here, [], options)
    const { ask, client } = own
    const id = `era-${era}`
    expect(client.getNegotiatedProtocolVersion()?.startsWith(era)).toBe(true)
    expect((await client.listTools()).tools).toHaveLength(14)
    const made = await ask('create_workspace', { id })
    expect(json('show', id)).toMatchObject(made)
    await ask('write_file', { id, path: 'work/a.txt', content: 'one\n' })
    expect(here.aw('fs', 'read', id, 'work/a.txt').stdout).toBe('one\n')
    const kept = await ask('snapshot', { id, label: 'one' })
    expect(json('snapshots', id)).toMatchObject([{ id: kept['id'], label: 'one' }])
    expect(
      await ask('exec', { id, argv: ['sh', '-c', 'echo two >> a.txt; cat a.txt; echo oh >&2; exit 3'] }),
    ).toMatchObject({
      workspace: `${id}/main`,
      code: 3,
      stdout: 'one\ntwo\n',
      stderr: 'oh\n',
    })
    expect(lastCommand(id)).toMatchObject({ state: 'ended', exit: { code: 3 } })
    expect(await ask('diff', { from: `${id}@one`, text: true })).toMatchObject({ changes: [{ path: 'work/a.txt' }] })
    expect(await ask('list_files', { id, path: 'work' })).toMatchObject({ entries: [{ path: 'work/a.txt', size: 8 }] })
    await ask('fork_workspace', { id, to: [`${id}/fork`] })
    expect(await ask('read_file', { id: `${id}/fork`, path: 'work/a.txt' })).toMatchObject({ content: 'one\ntwo\n' })
    await ask('restore', { id, snapshot: 'one' })
    expect(here.aw('fs', 'read', id, 'work/a.txt').stdout).toBe('one\n')
    const ran = await ask('run', { id, argv: ['sh', '-c', 'echo made > made.txt; echo done'] })
    expect(ran).toMatchObject({ stdout: 'done\n', changes: { added: 1 } })
    expect((json('runs', id) as unknown[])[0]).toMatchObject(ran['run'] as unknown as object)
    expect(await ask('get_run', { id })).toMatchObject({ output: 'done\n', next_cursor: null })
    expect(await ask('list_snapshots', { id })).toMatchObject({ next_cursor: null })
    await ask('destroy_workspace', { id: `${id}/fork` })
    expect(await ask('list_workspaces', { task: id })).toMatchObject({ workspaces: [{ workspace_id: `${id}/main` }] })
    expect(here.aw('exists', `${id}/fork`).code).toBe(3)
  })

  test('hears what a command writes while it runs, and can end it', async () => {
    await using own = await stdioClient(here, [], options)
    const id = `long-${era}`
    await own.ask('create_workspace', { id })
    const stop = new AbortController()
    const heard: string[] = []
    const argv = ['sh', '-c', 'echo first; until [ -e go ]; do sleep 0.05; done; echo second; sleep 600']
    const call = own.client.callTool(
      { name: 'exec', arguments: { id, argv } },
      { signal: stop.signal, onprogress: ({ message = '' }) => void heard.push(message) },
    )
    call.catch(() => undefined)
    await expect.poll(() => heard, { timeout: 20_000 }).toEqual(['first'])
    expect(here.aw('fs', 'write', id, 'work/go', '--content', '').code).toBe(0)
    await expect.poll(() => heard, { timeout: 20_000 }).toEqual(['first', 'second'])
    stop.abort()
    await expect(call).rejects.toThrow('abort')
    await expect
      .poll(() => lastCommand(id), { timeout: 20_000 })
      .toMatchObject({ exit: { code: null, signal: 'SIGKILL' } })
    // The server goes on.
    expect(await own.ask('exec', { id, argv: ['true'] })).toMatchObject({ code: 0 })
  })
})

test('an error reads as on the command line, with the 2.x and the 1.x SDK', async () => {
  await using own = await stdioClient(here)
  await using first = await firstSdkClient(here)
  // Once a client of either line knows a tool's output schema, it holds every structured answer to it.
  await own.client.listTools()
  await first.listTools()
  const { stderr } = here.aw('fs', 'read', 'nobody', 'x', '--json')
  const { code, message, hint } = JSON.parse(stderr) as Record<string, string>
  const asked = { name: 'read_file', arguments: { id: 'nobody', path: 'x' } }
  const told = { content: [{ type: 'text', text: `${code}: ${message}\n${hint}` }], isError: true }
  expect(hint).not.toBe('')
  expect(await own.client.callTool(asked)).toEqual(told)
  expect(await first.callTool(asked)).toEqual(told)
  await expect(own.call('exce', {})).rejects.toThrow('Did you mean exec?')
})

test('what it writes is under the lease that it was started with', async () => {
  json('create', 'leased')
  const { id } = json('lease', 'acquire', 'leased', '--holder', 'me') as { id: string }
  const write = { id: 'leased', path: 'work/a', content: 'text' }
  await using own = await stdioClient({ ...here, env: { ...here.env, AW_LEASE: id } })
  expect((await own.call('write_file', write)).isError).toBeUndefined()
  expect((await own.call('destroy_workspace', { id: 'leased' })).isError).toBeUndefined()
  json('undelete', 'leased')
  expect(errorCode(await own.call('write_file', write))).toBe('lease_lost')
  expect((await own.call('read_file', { id: 'leased', path: 'work/a' })).isError).toBeUndefined()
})

test('one workspace: its tools take no id, and mean it also when it has another name', async () => {
  here.aw('create', 'mine')
  here.aw('create', 'theirs')
  await using own = await stdioClient(here, ['--workspace', 'mine'])
  expect(await own.ask('exec', { argv: ['true'] })).toMatchObject({ workspace: 'mine/main' })
  here.aw('rename', 'mine', 'renamed')
  here.aw('create', 'mine')
  expect(await own.ask('exec', { argv: ['true'] })).toMatchObject({ workspace: 'renamed/main' })
  const other = await own.call('read_file', { id: 'theirs', path: 'x' })
  expect(errorCode(other)).toBe('invalid_input')
  const nobody = here.aw('mcp', '--workspace', 'nobody')
  expect(nobody).toMatchObject({ code: 3, stdout: '' })
})

describe('what no client would say', () => {
  test.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
  ])('a version %s is answered with %s', async (asked, answered) => {
    using line = wire(here)
    line.say(initialize(asked))
    expect(await line.hear()).toMatchObject({
      id: 0,
      result: { protocolVersion: answered, serverInfo: { name: 'aw' } },
    })
    line.end()
    expect(await line.over).toEqual({ code: 0, stderr: '' })
  })

  test('lines that are no messages are told to people, and the next one is answered', async () => {
    using line = wire(here)
    line.say(initialize('2025-06-18'))
    await line.hear()
    for (const odd of [
      '',
      'hello',
      '{"jsonrpc":"2.0"',
      '[]',
      '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
      '\u0000',
    ])
      line.say(odd)
    line.say({ jsonrpc: '2.0', id: 1, method: 'no/such' })
    expect(await line.hear()).toMatchObject({ id: 1, error: { code: -32601 } })
    line.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 7 } })
    expect(await line.hear()).toMatchObject({ id: 2, error: { code: -32602 } })
    line.say(toolCall(3, 'no_such', {}))
    expect(await line.hear()).toMatchObject({ id: 3, error: { code: -32602 } })
    line.say(toolCall(4, 'exec', { id: 'x', argv: [{ deep: true }] }))
    expect(await line.hear()).toMatchObject({
      id: 4,
      result: { isError: true, content: [{ text: expect.stringMatching(/^invalid_input: /) as string }] },
    })
    line.end()
    expect(await line.over).toMatchObject({ code: 0 })
  })

  test('huge arguments: up to the limit they are served, beyond it the connection ends', async () => {
    here.aw('create', 'huge')
    using line = wire(here)
    line.say(initialize('2025-06-18'))
    await line.hear()
    line.say(toolCall(1, 'write_file', { id: 'huge', path: 'large', content: 'x'.repeat(6_000_000) }))
    expect(await line.hear()).toMatchObject({ id: 1, result: { structuredContent: { size: 6_000_000 } } })
    line.say(toolCall(2, 'write_file', { id: 'huge', path: 'larger', content: 'x'.repeat(9_000_000) }))
    expect(await line.over).toMatchObject({ code: 0, stderr: expect.stringContaining('exceed') as string })
    expect(here.aw('fs', 'stat', 'huge', 'larger').code).toBe(3)
  })

  test('a client that goes away in the middle of a call: the command is ended, and the log says so', async () => {
    here.aw('create', 'left')
    using line = wire(here)
    line.say(initialize('2025-06-18'))
    await line.hear()
    line.say(toolCall(1, 'exec', { id: 'left', argv: ['sh', '-c', 'touch begun; exec sleep 600'] }))
    await expect.poll(() => here.aw('fs', 'stat', 'left', 'work/begun').code, { timeout: 20_000 }).toBe(0)
    line.end()
    expect(await line.over).toEqual({ code: 0, stderr: '' })
    expect(json('show', 'left')).toMatchObject({ commands: 0 })
    expect(lastCommand('left')).toMatchObject({ exit: { signal: 'SIGKILL' } })
  })

  test('a workspace that is being made then is not there afterwards', async () => {
    for (let i = 0; i < 10_000; i++) {
      if (i % 100 === 0) mkdirSync(`${here.folder}/big/${i}`, { recursive: true })
      writeFileSync(`${here.folder}/big/${i - (i % 100)}/${i}`, 'x')
    }
    // It can be made before anybody can leave: then another one is asked for.
    for (let attempt = 0; ; attempt++) {
      const id = `unmade-${attempt}`
      const events = here.start('events', '--follow', '--json', '--task', id)
      const begun = once(events.stdout, 'data')
      using line = wire(here)
      line.say(initialize('2025-06-18'))
      await line.hear()
      line.say(toolCall(1, 'create_workspace', { id, folder: `${here.folder}/big` }))
      await begun
      line.end()
      expect(await line.over).toEqual({ code: 0, stderr: '' })
      events.kill('SIGKILL')
      const { code } = here.aw('exists', id)
      if (code === 3) return void expect(here.aw('events', '--json').stdout).toMatch(/failed_create/)
      expect([code, attempt]).toEqual([0, expect.toBeOneOf([0, 1, 2, 3, 4])])
    }
  })
})

test('a path whose bytes are not UTF-8 names no file', async () => {
  using line = wire(here)
  here.aw('create', 'odd')
  here.awWith('kept', 'fs', 'write', 'odd', 'work/\ufffd')
  line.say(initialize('2025-06-18'))
  await line.hear()
  line.say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const asked = JSON.stringify(toolCall(1, 'write_file', { id: 'odd', path: 'work/\u00ff', content: 'lost' }))
  line.say(Buffer.from(asked, 'latin1'))
  expect(await line.hear()).toMatchObject({
    id: 1,
    result: { isError: true, content: [{ text: expect.stringMatching(/^invalid_path: /) as string }] },
  })
  line.say(toolCall(2, 'read_file', { id: 'odd', path: 'work/\ufffd' }))
  expect(await line.hear()).toMatchObject({ id: 2, result: { structuredContent: { content: 'kept' } } })
  line.end()
  expect((await line.over).code).toBe(0)
})
