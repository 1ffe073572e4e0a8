import { expect, it } from 'vitest'
import type { Inputs, Outputs } from '../../../src/api/table.ts'
import type { CallContext, Manager } from '../../../src/ports/manager.ts'
import { code, text, type OpenManager } from '../manager.ts'
import { eventsOf } from './commands.ts'

type Item = Outputs['run']

/** Follows a run to its end. */
async function run(manager: Manager, input: Inputs['run'], context?: CallContext) {
  const items: Item[] = []
  for await (const item of manager.stream('run', input, context)) items.push(item)
  const written = items.flatMap(({ type, data }) =>
    type === 'stdout' ? [Buffer.from((data ?? '') as Uint8Array)] : [],
  )
  return { items, stdout: Buffer.concat(written).toString(), last: items.at(-1) }
}

async function logged(manager: Manager, input: Inputs['logs']): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const { data } of manager.stream('logs', input)) parts.push(Buffer.from(data as Uint8Array))
  return Buffer.concat(parts).toString()
}

/** Commands are those that every machine has, also the one in memory. */
export function runContract(open: OpenManager): void {
  it('a run makes its workspace, tells what it writes, and is one step of the history that undo takes back', async () => {
    const { aw, manager } = await open()
    const { items, last, stdout } = await run(manager, { id: 'job', prompt: 'Say it\nloud', argv: ['tee', 'said'] })
    expect(items[0]).toMatchObject({ type: 'started', workspace: 'job/main', isolation: 'namespace' })
    expect(items[0]?.grades).toMatchObject({ open_files: 'rlimit' })
    expect(stdout).toBe('')
    expect(last).toMatchObject({
      type: 'ended',
      run: {
        number: 1,
        state: 'completed',
        label: 'run 1',
        prompt: 'Say it',
        agent: null,
        exit: { code: 0 },
        problem: null,
      },
      changes: { added: 1, changed: 0, removed: 0 },
    })
    const kept = (await manager.call('snapshots', { id: 'job' })).find(({ id }) => id === last?.run?.snapshot)
    expect(kept).toMatchObject({ label: 'run 1', meta: { run: last?.run?.run, number: 1, code: 0 } })
    const events = await eventsOf(manager, 'job')
    const types = events.map(({ type }) => type)
    expect(types.slice(0, 3)).toEqual(['workspace_create_started', 'run_requested', 'workspace_created'])
    const begun = { run: last?.run?.run, own_sandbox: true, isolation: 'namespace' }
    expect(events.filter(({ type }) => type === 'run_started')).toMatchObject([{ data: begun }])
    expect(types.slice(-3)).toEqual(['snapshot_started', 'snapshot_created', 'run_completed'])
    const workspace = await aw.get('job')
    expect(JSON.parse(text(await workspace.files.read('.aw/run.json')))).toMatchObject({
      run_id: 'job',
      prompt: 'Say it\nloud',
      run: last?.run?.run,
    })
    expect((await workspace.files.list('work')).entries).toHaveLength(1)
    await manager.call('undo', { id: 'job' })
    expect((await workspace.files.list('work')).entries).toHaveLength(0)
    expect(await manager.call('show', { id: 'job' })).toMatchObject({ sandbox: null })
  })

  it('of a log the last lines are had, however long it is', async () => {
    const { manager } = await open()
    const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`)
    await manager.call('create', { id: 'job' })
    await manager.call('fs write', { id: 'job', path: 'work/long', content: lines.join('') })
    await manager.call('fs write', { id: 'job', path: 'work/short', content: 'one\n\nthree' })
    await run(manager, { id: 'job', argv: ['cat', 'long'] })
    for (const tail of [1, 2, 15_000, 20_000, 30_000])
      expect(await logged(manager, { id: 'job', tail })).toBe(lines.slice(-tail).join(''))
    expect(await logged(manager, { id: 'job', tail: 2, follow: true })).toBe(lines.slice(-2).join(''))
    await run(manager, { id: 'job', argv: ['cat', 'short'] })
    expect(await logged(manager, { id: 'job', tail: 1 })).toBe('three')
    expect(await logged(manager, { id: 'job', tail: 2 })).toBe('\nthree')
    await expect(logged(manager, { id: 'job', tail: 2, from: 0 })).rejects.toEqual(code('invalid_input'))
  })

  it('of so many runs, the newest, the output is kept', async () => {
    const { manager } = await open({ 'runs.keep_logs': '2' })
    for (const word of ['one', 'two', 'three']) await run(manager, { id: 'job', argv: ['echo', word] })
    const kept = [1, 2, 3].map((number) => logged(manager, { id: 'job', run: number }))
    expect(await Promise.all(kept)).toEqual(['', 'two\n', 'three\n'])
    expect(await manager.call('runs', { id: 'job' })).toHaveLength(3)
  })

  it('where nothing is to be kept of runs, there is no snapshot of them', async () => {
    const { manager } = await open({ 'runs.snapshot': 'off' })
    const { last } = await run(manager, { id: 'job', argv: ['touch', 'new'] })
    expect(last).toMatchObject({ type: 'ended', run: { state: 'completed', snapshot: null, not_kept: null } })
    expect(await manager.call('snapshots', { id: 'job' })).toEqual([])
    const { last: asked } = await run(manager, { id: 'job', argv: ['touch', 'newer'], snapshot: 'each-run' })
    expect((await manager.call('snapshots', { id: 'job' })).map(({ id }) => id)).toContain(asked?.run?.snapshot)
  })

  it('a prompt that is not to be recorded is nowhere but its hash', async () => {
    const { aw, manager } = await open()
    await run(manager, { id: 'job', prompt: 'the secret plan', record_prompt: false, argv: ['true'] })
    const workspace = await aw.get('job')
    const about = text(await workspace.files.read('.aw/run.json'))
    expect(JSON.parse(about)).toMatchObject({
      prompt: null,
      prompt_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    })
    const told = [await eventsOf(manager, 'job'), await manager.call('runs', { id: 'job' })]
    const all = JSON.stringify([...told, await manager.call('snapshots', { id: 'job' }), about])
    expect(all).not.toContain('secret plan')
  })

  it('where runs are labelled by their prompt, the log has its first line, as the label of what it left too', async () => {
    const { manager } = await open({ 'runs.label_from_prompt': 'true' })
    const argv = ['touch', 'new']
    const prompt = 'Mend the login\nThe password is in the plan'
    await run(manager, { id: 'job', prompt, argv })
    const events = await eventsOf(manager, 'job')
    const { data } = events.find(({ type }) => type === 'run_requested') ?? {}
    expect(data).toMatchObject({ label: 'Mend the login', prompt: { length: prompt.length } })
    expect((await manager.call('snapshots', { id: 'job' })).map(({ label }) => label)).toContain('Mend the login')
    expect(JSON.stringify(events)).not.toContain('password')
  })

  it('another run goes on in the same workspace; its log and its end are its own', async () => {
    const { manager } = await open()
    await run(manager, { id: 'job', argv: ['echo', 'one'] })
    const { last } = await run(manager, { id: 'job', argv: ['false'] })
    expect(last).toMatchObject({
      run: { number: 2, state: 'failed', exit: { code: 1 }, problem: { code: 'exit' }, snapshot: null },
      changes: { added: 0, changed: 0, removed: 0 },
    })
    expect((await manager.call('runs', { id: 'job' })).map(({ number, state }) => [number, state])).toEqual([
      [1, 'completed'],
      [2, 'failed'],
    ])
    expect(await manager.call('runs', {})).toMatchObject([{ number: 2 }])
    expect(await manager.call('runs', { state: ['completed'] })).toEqual([])
    expect(await logged(manager, { id: 'job', run: 1 })).toBe('one\n')
    expect(await logged(manager, { id: 'job' })).toBe('')
    await expect(logged(manager, { id: 'job', run: 3 })).rejects.toEqual(code('run_not_found'))
    expect(await manager.call('wait', { id: 'job' })).toMatchObject({ number: 2, state: 'failed' })
  })

  it('one that nobody waits for is followed, waited for and cancelled by others; meanwhile the workspace is in use', async () => {
    const { aw, manager } = await open()
    const { items } = await run(manager, { id: 'job', argv: ['sleep', '600'], detach: true })
    expect(items.map(({ type }) => type)).toEqual(['started'])
    expect(await manager.call('runs', { id: 'job' })).toMatchObject([{ state: 'running', exit: null, ended_at: null }])
    await expect(run(manager, { id: 'job', argv: ['true'] })).rejects.toEqual(code('workspace_active'))
    await expect(manager.call('destroy', { id: 'job' })).rejects.toEqual(code('workspace_active'))
    await expect(manager.call('wait', { id: 'job', timeout_ms: 1 })).rejects.toEqual(code('timeout'))
    const followed = logged(manager, { id: 'job', follow: true })
    expect(await manager.call('cancel', { id: 'job', grace_ms: 0 })).toMatchObject({ state: 'cancelled' })
    expect(await followed).toBe('')
    expect(await manager.call('wait', { id: 'job' })).toMatchObject({ state: 'cancelled' })
    await expect(manager.call('cancel', { id: 'job' })).rejects.toEqual(code('invalid_state'))
    expect((await eventsOf(manager, 'job')).map(({ type }) => type)).toContain('run_cancel_started')
    await aw.get('job').then((workspace) => workspace.destroy())
  })

  it('the id of a run stands for its workspace, which is destroyed only when the run is over', async () => {
    const { manager } = await open()
    const told = manager.stream('run', { id: 'one', argv: ['sleep', '600'], detach: true })
    let run = ''
    for await (const item of told) run = item.run?.run ?? run
    expect(await manager.call('show', { id: run })).toMatchObject({ workspace_id: 'one/main' })
    await expect(manager.call('destroy', { id: run })).rejects.toEqual(code('workspace_active'))
    await manager.call('cancel', { id: run, grace_ms: 0 })
    expect(await manager.call('destroy', { id: run })).toMatchObject({ removed: true })
    await expect(manager.call('show', { id: run })).rejects.toEqual(code('workspace_not_found'))
  })

  it('each of its runs stands for a workspace, and what is done with a run is done with that one', async () => {
    const { manager, aw } = await open()
    const ids: string[] = []
    for (const word of ['first', 'second'])
      ids.push((await run(manager, { id: 'one', argv: ['echo', word] })).last?.run?.run ?? '')
    for await (const item of manager.stream('run', { id: 'one', argv: ['sleep', '600'], detach: true }))
      if (item.run !== undefined) ids.push(item.run.run)
    const [first = '', second = '', last = ''] = ids
    for (const id of ids) expect(await manager.call('show', { id })).toMatchObject({ workspace_id: 'one/main' })
    expect(await logged(manager, { id: first })).toBe('first\n')
    expect(await logged(manager, { id: first, run: 2 })).toBe('second\n')
    expect(await manager.call('wait', { id: second })).toMatchObject({ run: second, state: 'completed' })
    await expect(manager.call('cancel', { id: first })).rejects.toEqual(code('invalid_state', { run: first }))
    expect(await manager.call('cancel', { id: last, grace_ms: 0 })).toMatchObject({ state: 'cancelled' })
    const { id: workspace } = await manager.call('show', { id: first })
    for (const id of ids) expect((await eventsOf(manager, id)).map(({ stream }) => stream)).toContain(workspace)
    // Also if another is called so.
    await aw.create({ id: first })
    expect(await manager.call('show', { id: first })).toMatchObject({ workspace_id: 'one/main' })
    expect(await manager.call('show', { id: `${first}/main` })).toMatchObject({ workspace_id: `${first}/main` })
    await manager.call('destroy', { id: second })
    expect((await eventsOf(manager, second)).at(-1)).toMatchObject({ type: 'workspace_cleanup', stream: workspace })
    await expect(manager.call('show', { id: second })).rejects.toEqual(code('workspace_not_found', { id: workspace }))
  })

  it('whoever stops listening leaves it to itself; a signal cancels it', async () => {
    const { manager } = await open()
    for await (const { type } of manager.stream('run', { id: 'left', argv: ['sleep', '600'] }))
      if (type === 'started') break
    expect(await manager.call('runs', { id: 'left' })).toMatchObject([{ state: 'running' }])
    const stop = new AbortController()
    const items: Item[] = []
    for await (const item of manager.stream('run', { id: 'ended', argv: ['sleep', '600'] }, { signal: stop.signal })) {
      items.push(item)
      stop.abort()
    }
    expect(items.at(-1)).toMatchObject({ type: 'ended', run: { state: 'cancelled' } })
    expect(await manager.call('runs', { id: 'left' })).toMatchObject([{ state: 'running' }])
    expect(await manager.call('status', {})).toMatchObject({
      workspaces: [
        { workspace: 'left/main', isolation: 'namespace', run: { state: 'running' } },
        { workspace: 'ended/main', isolation: null, run: { state: 'cancelled' } },
      ],
      running: 1,
      trashed: 0,
    })
    await manager.call('cancel', { id: 'left', grace_ms: 0 })
  })

  it('a run in a sandbox that was started before leaves it as it is; stopping that ends the run', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'job' })
    await manager.call('start', { id: 'job' })
    expect((await run(manager, { id: 'job', argv: ['echo', 'in'] })).stdout).toBe('in\n')
    expect(await manager.call('show', { id: 'job' })).toMatchObject({ state: 'running' })
    await run(manager, { id: 'job', argv: ['sleep', '600'], detach: true })
    await manager.call('stop', { id: 'job', grace_ms: 0 })
    expect(await manager.call('runs', { id: 'job' })).toMatchObject([{ state: 'completed' }, { state: 'cancelled' }])
    expect((await eventsOf(manager, 'job')).at(-1)).toMatchObject({ type: 'run_cancelled', data: { why: 'stop' } })
  })

  it('one that has ended before whoever asked for it goes is in the log, although nobody waits for it', async () => {
    const { manager } = await open()
    for await (const { type } of manager.stream('run', { id: 'quick', argv: ['true'] })) {
      if (type !== 'started') continue
      await expect.poll(() => manager.call('runs', { id: 'quick' })).toMatchObject([{ state: 'completed' }])
      break
    }
    expect((await eventsOf(manager, 'quick')).map(({ type }) => type)).toContain('run_completed')
  })

  it('so many runs may follow one another: what the oldest left makes room, unless somebody gave it a label', async () => {
    const { manager } = await open({ 'snapshots.max': '3' })
    const turn = (name: string) => run(manager, { id: 'turns', prompt: name, argv: ['tee', name] })
    await turn('first')
    await manager.call('snapshot label', { id: 'turns', snapshot: 'head', label: 'good' })
    for (const name of ['second', 'third', 'fourth', 'fifth']) {
      const { items } = await turn(name)
      expect(items.at(-1)).toMatchObject({ type: 'ended', run: { state: 'completed', not_kept: null } })
    }
    const labels = (await manager.call('snapshots', { id: 'turns' })).map(({ label }) => label)
    expect(labels).toContain('good')
    expect(labels).toContain('run 5')
    expect(labels).not.toContain('run 2')
  })

  it('destroying it with the risk named ends the run first, and says so in the log', async () => {
    const { manager } = await open()
    await run(manager, { id: 'job', argv: ['sleep', '600'], detach: true })
    const { id } = await manager.call('show', { id: 'job' })
    await manager.call('destroy', { id: 'job', include_active: true })
    const types = (await eventsOf(manager, id)).map(({ type }) => type)
    expect(types.indexOf('run_cancelled')).toBeLessThan(types.indexOf('workspace_destroy_started'))
    expect(types).toContain('run_cancelled')
  })

  it('several at once begin as one and go their own ways; one that fails does not keep the others from going on', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'start' })
    await aw.get('start').then(({ files }) => files.write('work/common', 'same'))
    const { items } = await run(manager, { id: 'start', count: 3, argv: ['cat', 'common'] })
    const ended = items.filter(({ type }) => type === 'ended').map(({ workspace }) => workspace)
    expect(ended.toSorted()).toEqual(['start/main-1', 'start/main-2', 'start/main-3'])
    expect(items.filter(({ type }) => type === 'stdout')).toHaveLength(3)
  })

  it('what cannot be run is an error, and in the log if its workspace is there', async () => {
    const { aw, manager } = await open()
    await expect(run(manager, { id: 'job' })).rejects.toEqual(code('invalid_input'))
    await expect(run(manager, { id: 'job', argv: ['true'], model: 'best' })).rejects.toEqual(code('invalid_input'))
    await aw.create({ id: 'job' })
    await expect(run(manager, { id: 'job', argv: ['no-such-program'] })).rejects.toEqual(code('file_not_found'))
    const nowhere = run(manager, { id: 'job', argv: ['true'], cwd: 'missing' })
    await expect(nowhere).rejects.toEqual(code('file_not_found'))
    const failed = { state: 'failed', exit: null, problem: { code: 'file_not_found' } }
    expect(await manager.call('runs', { id: 'job' })).toMatchObject([failed, failed])
    expect(await manager.call('show', { id: 'job' })).toMatchObject({ state: 'stopped', sandbox: null })
    await expect(manager.call('wait', { id: 'none' })).rejects.toEqual(code('workspace_not_found'))
    await aw.create({ id: 'idle' })
    for (const name of ['wait', 'cancel'] as const)
      await expect(manager.call(name, { id: 'idle' })).rejects.toEqual(code('run_not_found'))
  })
}
