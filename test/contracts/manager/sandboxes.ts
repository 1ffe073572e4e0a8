import { expect, it } from 'vitest'
import type { Outputs } from '../../../src/api/table.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { code, text, type OpenManager } from '../manager.ts'
import { aborting, eventsOf, given, ran, variables } from './commands.ts'

type Item = Outputs['exec']

/** Commands are those that every machine has, also the one in memory: echo, cat, tee, rm, env, sleep, true, false. */
export function sandboxContract(open: OpenManager): void {
  it('a command runs in the workspace; what it wrote and how it ended are told, and the end is in the log', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const { items, stdout, exit } = await ran(manager, { id: 'run', argv: ['echo', 'hello', 'there'] })
    expect(items.map(({ type }) => type)).toEqual(['started', 'stdout', 'exit'])
    expect(items[0]).toMatchObject({
      workspace: 'run/main',
      isolation: 'namespace',
      command: expect.stringMatching(/^cmd_/) as unknown,
    })
    expect(stdout).toBe('hello there\n')
    expect(exit).toMatchObject({ code: 0, signal: null, timed_out: false, output_cut: false, snapshot: null })
    const events = await eventsOf(manager, 'run')
    expect(events.map(({ type }) => type).slice(-2)).toEqual(['command_started', 'command_ended'])
    expect(events.at(-2)?.data).toMatchObject({
      argv: ['echo', 'hello', 'there'],
      cwd: 'work',
      own_sandbox: true,
      env: [],
    })
    expect(events.at(-1)?.data).toMatchObject({ exit: { code: 0 } })
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ state: 'ready', sandbox: null, commands: 0 })
  })

  it('any end of a command is a result; one that cannot be started is an error, and in the log', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    expect((await ran(manager, { id: 'run', argv: ['false'] })).exit).toMatchObject({ code: 1 })
    await expect(ran(manager, { id: 'run', argv: ['no-such-program'] })).rejects.toEqual(code('file_not_found'))
    const last = (await manager.call('history', { id: 'run' })).at(-1)
    expect(last).toMatchObject({
      argv: ['no-such-program'],
      state: 'failed',
      exit: null,
      problem: { code: 'file_not_found' },
    })
    await expect(ran(manager, { id: 'run', argv: [] })).rejects.toEqual(code('invalid_input'))
    await expect(ran(manager, { argv: ['true'] })).rejects.toEqual(code('invalid_input'))
    await expect(ran(manager, { id: 'none', argv: ['true'] })).rejects.toEqual(code('workspace_not_found'))
  })

  it('reads what it is given, and works where the content is', async () => {
    const { aw, manager } = await open()
    const workspace = await aw.create({ id: 'run' })
    const { stdout } = await ran(manager, { id: 'run', argv: ['tee', 'note'] }, { input: given('one ', 'two') })
    expect(stdout).toBe('one two')
    expect(text(await workspace.files.read('work/note'))).toBe('one two')
    for (const [cwd, path] of [
      ['.', 'note'],
      ['..', 'work/note'],
      ['/workspace', 'work/note'],
    ] as const)
      expect((await ran(manager, { id: 'run', argv: ['cat', path], cwd })).stdout).toBe('one two')
    await ran(manager, { id: 'run', argv: ['touch', 'made'], cwd: '../output' })
    expect(await workspace.files.list('output')).toMatchObject({ entries: [{ path: 'output/made' }] })
    await expect(ran(manager, { id: 'run', argv: ['true'], cwd: '../..' })).rejects.toEqual(
      code('path_traversal_attempt'),
    )
    await expect(ran(manager, { id: 'run', argv: ['true'], cwd: '/etc' })).rejects.toEqual(
      code('path_outside_workspace'),
    )
  })

  it('knows where it is, and gets the variables of its workspace', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'task/agent' })
    await aw.create({ id: 'other' })
    await manager.call('env set', { id: 'task/agent', env: { COLOR: 'blue', SIZE: '9' } })
    await manager.call('env set', { id: 'task/agent', secret: 'API_KEY', value: 'hidden value\n' })
    const listed = [
      { name: 'API_KEY', secret: true },
      { name: 'COLOR', secret: false },
      { name: 'SIZE', secret: false },
    ]
    expect(await manager.call('env list', { id: 'task/agent' })).toEqual(listed)
    expect(await manager.call('env unset', { id: 'task/agent', names: ['SIZE', 'NEVER'] })).toEqual(listed.slice(0, 2))
    const env = variables((await ran(manager, { id: 'task/agent', argv: ['env'], env: { MORE: 'x y' } })).stdout)
    expect(env).toMatchObject({
      AW_WORKSPACE: 'task/agent',
      AW_TASK: 'task',
      AW_AGENT: 'agent',
      COLOR: 'blue',
      MORE: 'x y',
    })
    expect(env).not.toHaveProperty('SIZE')
    expect(env).not.toHaveProperty('API_KEY')
    expect(env['AW_SLUG']).toBe('task-agent')
    const others = variables((await ran(manager, { id: 'other', argv: ['env'] })).stdout)
    expect(others['AW_PORT_BASE']).not.toBe(env['AW_PORT_BASE'])
    expect(others).not.toHaveProperty('COLOR')
    const secret = await ran(manager, { id: 'task/agent', argv: ['cat', String(env['API_KEY_FILE'])] })
    // Each command has a sandbox of its own here, and so a file of its own at the same or another path.
    expect([secret.stdout, secret.stderr].join('')).not.toContain('\n\n')
    const told = JSON.stringify(await eventsOf(manager, 'task/agent'))
    expect(told).toContain('API_KEY')
    for (const value of ['hidden value', 'blue', 'x y']) expect(told).not.toContain(value)
  })

  it('names of variables are checked', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    for (const name of ['1X', 'A-B', '', 'AW_TASK'])
      await expect(manager.call('env set', { id: 'run', env: { [name]: 'x' } })).rejects.toEqual(code('invalid_input'))
    await expect(manager.call('env set', { id: 'run' })).rejects.toEqual(code('invalid_input'))
    await expect(manager.call('env set', { id: 'run', secret: 'KEY' })).rejects.toEqual(code('invalid_input'))
    await expect(manager.call('env set', { id: 'run', secret: 'KEY', value: '\n' })).rejects.toEqual(
      code('invalid_input'),
    )
    await expect(manager.call('env set', { id: 'run', env: { BIG: 'x'.repeat(70_000) } })).rejects.toEqual(
      code('invalid_input'),
    )
    expect(await manager.call('env list', { id: 'run' })).toEqual([])
  })

  it('a sandbox that was started is used by all commands until it is stopped', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const started = await manager.call('start', { id: 'run' })
    expect(started).toMatchObject({ state: 'running', sandbox: { isolation: 'namespace', network: 'none', allow: [] } })
    await expect(manager.call('start', { id: 'run' })).rejects.toEqual(code('invalid_state'))
    await ran(manager, { id: 'run', argv: ['true'] })
    const [last] = (await eventsOf(manager, 'run')).filter(({ type }) => type === 'command_started')
    expect(last?.data).toMatchObject({ own_sandbox: false, sandbox: started.sandbox?.id })
    for (const other of [{ isolation: 'none' }, { network: 'host' }, { allow: ['npm'] }, { memory_mb: 64 }] as const)
      await expect(ran(manager, { id: 'run', argv: ['true'], ...other })).rejects.toEqual(code('invalid_input'))
    expect(await manager.call('stop', { id: 'run' })).toMatchObject({ state: 'stopped', sandbox: null })
    expect(await manager.call('stop', { id: 'run' })).toMatchObject({ state: 'stopped' })
    const types = (await eventsOf(manager, 'run')).map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('sandbox_'))).toEqual([
      'sandbox_launch_started',
      'sandbox_launched',
      'sandbox_stop_started',
      'sandbox_stopped',
    ])
    expect((await ran(manager, { id: 'run', argv: ['true'] })).exit).toMatchObject({ code: 0 })
    expect(await manager.call('start', { id: 'run' })).toMatchObject({ state: 'running' })
  })

  it('by whom limits are kept, and what nobody keeps, is told wherever a sandbox is', async () => {
    const { aw, manager } = await open({ 'sandbox.output_mb': '5' })
    await aw.create({ id: 'run' })
    const own = (await ran(manager, { id: 'run', argv: ['true'], open_files: 100 })).items[0]
    expect(own).toMatchObject({ grades: { output_mb: 'supervisor', open_files: 'rlimit' } })
    const { sandbox } = await manager.call('start', { id: 'run', open_files: 100 })
    const walls = { grades: own?.grades, notes: own?.notes ?? 'nothing was told' }
    expect(sandbox).toMatchObject(walls)
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ sandbox: walls })
    expect((await ran(manager, { id: 'run', argv: ['true'] })).items[0]).toMatchObject(walls)
    const told = (await eventsOf(manager, 'run')).filter(({ type }) => type === 'command_started')
    expect(told.map(({ data }) => data['walls'])).toEqual([walls, null])
  })

  it('a command that takes too long is ended, and says so', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const { exit } = await ran(manager, { id: 'run', argv: ['sleep', '30'], timeout_ms: 50 })
    expect(exit).toMatchObject({ code: null, signal: 'SIGKILL', timed_out: true })
  })

  it('whoever stops listening ends the command, and the log tells', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    for await (const item of manager.stream('exec', { id: 'run', argv: ['sleep', '30'] })) {
      expect(item.type).toBe('started')
      break
    }
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ commands: 0 })
    expect((await manager.call('history', { id: 'run' })).at(-1)).toMatchObject({ state: 'failed' })
    const signal = AbortSignal.abort()
    await expect(ran(manager, { id: 'run', argv: ['true'] }, { signal })).rejects.toEqual(code('aborted'))
  })

  it('a cancelled command answers aborted, and the log tells why it ended', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const stop = new AbortController()
    const items = manager.stream('exec', { id: 'run', argv: ['sleep', '30'] }, { signal: stop.signal })
    for await (const { type } of aborting(items, stop)) expect(type).toBe('started')
    const problem = { code: 'aborted', message: 'The caller cancelled this' }
    const exit = { code: null, signal: 'SIGKILL' }
    expect((await manager.call('history', { id: 'run' })).at(-1)).toMatchObject({ state: 'failed', exit, problem })
  })

  it.each(['in a sandbox that runs', 'in one of its own'])('stop ends a command that runs %s', async (where) => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    if (where === 'in a sandbox that runs') await manager.call('start', { id: 'run' })
    const running = ran(manager, { id: 'run', argv: ['sleep', '30'] }).then(
      ({ exit }) => exit?.signal,
      (error: unknown) => toAwError(error).code,
    )
    await expect.poll(async () => (await manager.call('show', { id: 'run' })).commands).toBe(1)
    await expect.poll(async () => (await manager.call('history', { id: 'run' })).at(-1)?.state).toBe('running')
    await manager.call('stop', { id: 'run', grace_ms: 100 })
    expect(await running).toBeOneOf(['SIGTERM', 'SIGKILL', 'sandbox_gone'])
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ operation: null, sandbox: null, commands: 0 })
    await manager.call('destroy', { id: 'run' })
  })

  it('a workspace in which a command runs is in use, until it ends or that risk is taken', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    await manager.call('start', { id: 'run' })
    const running = manager.stream('exec', { id: 'run', argv: ['sleep', '30'] })[Symbol.asyncIterator]()
    await running.next()
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ commands: 1 })
    await expect(manager.call('destroy', { id: 'run' })).rejects.toEqual(code('workspace_active'))
    await expect(manager.call('reset', { id: 'run' })).rejects.toEqual(code('workspace_active'))
    expect(await manager.call('destroy', { id: 'run', include_active: true })).toMatchObject({ removed: true })
    await running.return?.()
  })

  it('with a snapshot for each command, undo takes back what a command did, also in a sandbox that runs', async () => {
    const { aw, manager } = await open({ 'sandbox.snapshot': 'each-exec' })
    const workspace = await aw.create({ id: 'run' })
    await workspace.files.write('work/keep', 'precious')
    await manager.call('start', { id: 'run' })
    await ran(manager, { id: 'run', argv: ['touch', 'one'] })
    await ran(manager, { id: 'run', argv: ['rm', '-rf', 'keep'] })
    await ran(manager, { id: 'run', argv: ['true'] })
    const commands = await manager.call('history', { id: 'run' })
    expect(commands.map(({ argv, files_changed }) => [argv[0], files_changed])).toEqual([
      ['touch', 1],
      ['rm', 1],
      ['true', null],
    ])
    expect((await manager.call('history', { id: 'run', limit: 1 })).map(({ argv }) => argv[0])).toEqual(['true'])
    await expect(workspace.files.read('work/keep')).rejects.toEqual(code('file_not_found'))
    await manager.call('undo', { id: 'run' })
    expect(text(await workspace.files.read('work/keep'))).toBe('precious')
    const shown = await manager.call('show', { id: 'run' })
    expect(shown).toMatchObject({ state: 'running', sandbox: { isolation: 'namespace' } })
    expect((await ran(manager, { id: 'run', argv: ['cat', 'keep'] })).stdout).toBe('precious')
    await manager.call('undo', { id: 'run' })
    await expect(workspace.files.read('work/one')).rejects.toEqual(code('file_not_found'))
    // What the one before it did is not told as what it did.
    await manager.call('snapshot remove', { id: 'run', snapshots: [commands[0]?.snapshot ?? ''] })
    const [, removing] = await manager.call('history', { id: 'run' })
    expect(removing).toMatchObject({
      argv: ['rm', '-rf', 'keep'],
      files_changed: expect.toBeOneOf([1, null]) as unknown,
    })
    const snapshots = await manager.call('snapshots', { id: 'run' })
    expect(snapshots.find(({ id }) => id === removing?.snapshot)).toMatchObject({ files_changed: null })
  })

  it('in all workspaces of a task at once, each for itself', async () => {
    const { aw, manager } = await open()
    for (const id of ['task/a', 'task/b', 'elsewhere/a']) await aw.create({ id })
    await manager.call('env set', { id: 'task/b', env: { WHO: 'b' } })
    const items: Item[] = []
    for await (const item of manager.stream('exec', { all: 'task', argv: ['env'] })) items.push(item)
    const exits = items.filter(({ type }) => type === 'exit')
    expect(exits.map(({ workspace, code: status }) => `${workspace} ${status}`).toSorted()).toEqual([
      'task/a 0',
      'task/b 0',
    ])
    const wrote = (name: string): string =>
      items
        .flatMap(({ type, workspace, data }) => (type === 'stdout' && workspace === name ? [text(data ?? '')] : []))
        .join('')
    expect(variables(wrote('task/b'))).toMatchObject({ AW_AGENT: 'b', WHO: 'b' })
    expect(variables(wrote('task/a'))).not.toHaveProperty('WHO')
    await expect(ran(manager, { all: 'no-task', argv: ['true'] })).rejects.toEqual(code('workspace_not_found'))
    await expect(ran(manager, { all: 'task', id: 'task/a', argv: ['true'] })).rejects.toEqual(code('invalid_input'))
  })

  it('tells what was asked of the network, which is nothing without a network', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    expect(await manager.call('requests', { id: 'run' })).toEqual([])
    expect(await manager.call('requests', { id: 'run', refused: true, limit: 5 })).toEqual([])
    for (const rule of ['*', 'http://x.example', 'a b', '*.com'])
      await expect(ran(manager, { id: 'run', argv: ['true'], allow: [rule] })).rejects.toEqual(code('invalid_input'))
    await expect(ran(manager, { id: 'run', argv: ['true'], network: 'none', allow: ['npm'] })).rejects.toEqual(
      code('invalid_input'),
    )
  })

  it('there is nothing to connect to without a sandbox', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const connecting = async (): Promise<void> => {
      for await (const _ of manager.stream('connect', { id: 'run', port: 8080 })) return
    }
    await expect(connecting()).rejects.toEqual(code('invalid_state'))
  })
}
