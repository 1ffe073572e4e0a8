/** One story through every door: the same answers, the same codes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cliDoor, httpDoor, libraryDoor, mcpDoor, type Door, type Outcome } from './doors.ts'

type Step = readonly [name: string, input: (folder: string) => Readonly<Record<string, unknown>>]

const bytes = (text: string): Uint8Array => Buffer.from(text)
const step = (name: string, input: Readonly<Record<string, unknown>> = {}): Step => [name, () => input]

const story: readonly Step[] = [
  step('create', { id: 't/a', labels: { team: 'web' } }),
  step('create', { id: 't/a' }),
  step('create', { id: 'not a name' }),
  step('ensure', { id: 't/a' }),
  ['create', (folder) => ({ id: 'copy', from: { folder: join(folder, 'source') } })],
  ['create', (folder) => ({ id: 'none', from: { folder: join(folder, 'nothing') } })],
  step('list', { task: 't' }),
  step('list', { labels: { team: 'web' }, limit: 1 }),
  step('show', { id: 't/a' }),
  step('show', { id: 'nobody' }),
  step('exists', { id: 't/a' }),
  step('paths', { id: 't/a' }),
  step('fs write', { id: 't/a', path: 'work/one.txt', content: bytes('one\n') }),
  step('fs write', { id: 't/a', path: '../out', content: bytes('x') }),
  step('fs write', { id: 't/a', path: '.aw/state.json', content: bytes('x') }),
  step('fs append', { id: 't/a', path: 'work/one.txt', content: bytes('two\n') }),
  step('fs read', { id: 't/a', path: 'work/one.txt' }),
  step('fs read', { id: 't/a', path: 'work/none.txt' }),
  step('fs read', { id: 't/a', path: '/etc/passwd' }),
  step('fs list', { id: 'copy', path: 'work' }),
  step('fs tree', { id: 'copy', max_depth: 3 }),
  step('fs stat', { id: 'copy', path: 'work/deep/é' }),
  step('fs mkdir', { id: 't/a', path: 'work/x/y', parents: true }),
  step('fs move', { id: 't/a', from: 'work/one.txt', to: 'work/x/two.txt' }),
  step('fs copy', { id: 't/a', from: 'work/x', to: 'work/z', recursive: true }),
  step('fs remove', { id: 't/a', path: 'work/z' }),
  step('fs remove', { id: 't/a', path: 'work/z', recursive: true }),
  step('snapshot', { id: 't/a', label: 'first' }),
  step('snapshot', { id: 't/a', label: 'first', meta: { turn: 1 } }),
  step('fs write', { id: 't/a', path: 'work/x/two.txt', content: bytes('changed') }),
  step('describe', { id: 't/a' }),
  step('diff', { from: 't/a' }),
  step('diff', { from: 't/a@first', to: 't/a' }),
  step('restore', { id: 't/a', snapshot: 'first' }),
  step('restore', { id: 't/a', snapshot: 'nothing' }),
  step('undo', { id: 't/a' }),
  step('redo', { id: 'copy' }),
  step('branch', { id: 't/a', name: 'other' }),
  step('snapshots', { id: 't/a' }),
  step('fork', { id: 't/a', to: ['t/b', 't/c'] }),
  step('exec', { id: 't/b', argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] }),
  step('exec', { id: 'nobody', argv: ['true'] }),
  step('env set', { id: 't/b', env: { A: '1' } }),
  step('env list', { id: 't/b' }),
  step('lease acquire', { id: 't/b', holder: 'me' }),
  step('lease acquire', { id: 't/b', holder: 'you' }),
  step('adopt', { id: 't/b', holder: 'you', force: true }),
  step('destroy', { id: 't/b' }),
  step('destroy', { id: 't/b', include_leased: true }),
  step('destroy', { id: 't/b' }),
  step('destroy', { id: 't/b', if_exists: true }),
  step('undelete', { id: 't/b' }),
  step('rename', { id: 't/b', to: 't/d' }),
  step('label', { id: 't/d', labels: { a: 'b' } }),
  step('ttl', { id: 't/d', duration: '7d' }),
  step('limit', { id: 't/d', size: '5M' }),
  step('run', { id: 't/c', argv: ['sh', '-c', 'sleep 0.5; echo ran > made'], snapshot: 'off' }),
  step('runs', { id: 't/c' }),
  step('logs', { id: 't/c' }),
  step('template create', { name: 'page', from_workspace: 't/a' }),
  step('template list'),
  step('shared create', { name: 'models' }),
  step('shared list'),
  step('bases list'),
  step('gc', { plan: true }),
  step('audit verify'),
  step('events', { task: 't', limit: 5 }),
]

/** What differs by nature: ids, times, places, sizes on disk, how long something took. */
function plain(value: unknown, folder: string, key = ''): unknown {
  if (
    /(_ms|_at|mtime|at|bytes|peak|position|hash|events|streams|unsealed|memory|pid|start_time|used_percent)$/.test(
      key,
    ) &&
    key !== 'expires'
  )
    return null
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (typeof value === 'string')
    return value
      .replaceAll(folder, 'FOLDER')
      .replace(/^(user:\d+|token:tok_\w+)$/, 'WHO')
      .replaceAll(/\b(ws|snap|ev|op|cor|ls|box|cmd|run|tok)_[0-9a-z]{26}/g, '$1_ID')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  if (Array.isArray(value)) return value.map((item) => plain(item, folder, key))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(fields.map(([name, one]) => [name, plain(one, folder, name)]))
}

async function told(door: Door): Promise<(Outcome | undefined)[]> {
  mkdirSync(join(door.folder, 'source/deep'), { recursive: true })
  writeFileSync(join(door.folder, 'source/deep/é'), 'text')
  const outcomes: (Outcome | undefined)[] = []
  for (const [name, input] of story) {
    const outcome = await door.do(name, input(door.folder))
    outcomes.push(plain(outcome, door.folder) as Outcome | undefined)
  }
  return outcomes
}

const doors = {
  'the command line, alone': () => cliDoor('alone'),
  'the command line, through a daemon': () => cliDoor('daemon'),
  'HTTP over the socket': () => httpDoor('socket'),
  'HTTP over TCP': () => httpDoor('tcp'),
}

const reference = (async () => {
  await using library = await libraryDoor()
  return await told(library)
})()

test.each(Object.entries(doors))('%s answers as the library does', async (_, open) => {
  await using door = await open()
  const outcomes = await told(door)
  const expected = await reference
  for (const [i, [name, input]] of story.entries())
    expect([i, name, input(''), outcomes[i]]).toEqual([i, name, input(''), expected[i]])
})

/** How many values there are to compare. */
const leavesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + leavesOf(one), 0)
    : 1

test('MCP has the same codes, and answers that are part of the same', async () => {
  await using door = await mcpDoor()
  const outcomes = await told(door)
  const expected = await reference
  const compared = new Set<string>()
  for (const [i, [name, input]] of story.entries()) {
    const [ours, theirs] = [outcomes[i], expected[i]]
    if (ours === undefined) continue
    compared.add(`${name} ${'code' in ours ? 'refused' : 'done'}`)
    // The library tells more; what MCP tells is the same.
    expect([i, name, input(''), theirs]).toMatchObject([i, name, input(''), ours])
    if ('ok' in ours) expect(leavesOf(ours.ok), `of ${name}`).toBeGreaterThan(0)
  }
  const done = ['create', 'list', 'destroy', 'fork', 'fs read', 'fs write', 'fs list', 'diff', 'snapshot', 'restore']
  for (const name of [...done, 'snapshots']) expect([...compared]).toContain(`${name} done`)
})
