/** The command line in its own process and through the daemon, both at once in one home. */
import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { operations } from '../../src/api/table.ts'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { launcher } from '../cli/built-command.ts'
import { killableHome, until, type KillableHome } from './killable.ts'
import { checkOrder, eventsOf } from './client-record.ts'

/** Settings of its own make a command work by itself. */
const ways = { 'by itself': ['--set', 'locks.timeout_ms=20000'], 'through the daemon': [] }
const rounds = 2

test('commands by themselves and through the daemon share workspaces and have others of their own', async () => {
  await using home = killableHome(['locks.timeout_ms=20000'])
  const daemon = await home.serve()
  const codes = new Map<string, number>()
  const worker = async (flags: readonly string[], name: string): Promise<void> => {
    for (let round = 0; round < rounds; round++)
      for (const id of [`${name}/r${round}`, `shared/r${round}`]) {
        const aw = (operation: string, ...args: string[]): Promise<void> => asked(home, codes, flags, operation, args)
        await aw('create', id)
        await aw('fs write', id, 'work/file')
        await aw('snapshot', id)
        await aw('destroy', id)
      }
  }
  await Promise.all(
    Object.entries(ways).flatMap(([way, flags]) => [1, 2].map((i) => worker(flags, `${way.slice(0, 2)}-${i}`))),
  )
  console.log(JSON.stringify(Object.fromEntries(codes)))
  await until('the daemon was asked', () => daemon.log().includes('"operation":"create"'))
  const manager = home.client()
  const events = await eventsOf(manager)
  checkOrder(events)
  const makers = new Set(events.filter(({ type }) => type === 'workspace_created').map(({ stream }) => stream))
  expect(makers.size).toBeGreaterThanOrEqual(4 * rounds)
  const owners = events.flatMap(({ data }) => (data['owner'] as { pid?: number } | undefined)?.pid ?? [])
  expect(new Set(owners.map((pid) => pid === daemon.pid))).toEqual(new Set([true, false]))
  await checkHome(home.home, manager)
  await checkReadModel(manager)
})

/** What a command of its own workspace cannot do, it says with one of the codes that it declares. */
function asked(
  home: KillableHome,
  codes: Map<string, number>,
  flags: readonly string[],
  operation: string,
  args: readonly string[],
): Promise<void> {
  const declared: readonly string[] = operations.find(({ name }) => name === operation)?.errors ?? []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const argv = [launcher, ...flags, '--json', ...operation.split(' '), ...args]
  const child = execFile(process.execPath, argv, { cwd: home.at.folder, env: home.at.env }, (failure, _out, errors) => {
    if (failure === null) return resolve()
    const { code } = JSON.parse(errors) as { code: string }
    codes.set(`${operation}: ${code}`, (codes.get(`${operation}: ${code}`) ?? 0) + 1)
    const isShared = args[0]?.startsWith('shared/') === true
    if (isShared && declared.includes(code)) resolve()
    else reject(new Error(`${operation} ${args.join(' ')}: ${errors}`))
  })
  child.stdin?.end('content')
  return promise
}
