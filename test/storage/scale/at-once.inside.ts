import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Aw, Workspace } from '../../../src/index.ts'
import { openHome, read, sizes, timed, write } from './fixture.ts'

const { forks: many, processes } = sizes
const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/** Each has what was there, and what is written to one nobody else sees. */
function expectIndependent(source: Workspace, forks: readonly Workspace[]): void {
  expect(new Set(forks.map(({ id }) => id)).size).toBe(many)
  for (const fork of forks) {
    expect(read(fork, 'state')).toBe('of the source')
    write(fork, 'state', fork.id)
    write(fork, 'src/7', `${fork.id}'s`)
  }
  for (const fork of forks) expect([read(fork, 'state'), read(fork, 'src/7')]).toEqual([fork.id, `${fork.id}'s`])
  expect([read(source, 'state'), read(source, 'src/7')]).toEqual(['of the source', '7'.repeat(500)])
}

async function expectWell(aw: Aw): Promise<void> {
  expect(await aw.recover()).toMatchObject({ recovered: [], lost: [], orphans: [], leftovers: [] })
  expect(await aw.audit.verify()).toMatchObject({ intact: true })
}

async function aFork(args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [cli, 'fork', ...args, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += String(chunk)))
  child.stderr.on('data', (chunk) => (err += String(chunk)))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`aw fork ${args.join(' ')} ended with ${String(code)}: ${err}${out}`)
  const { forks } = JSON.parse(out) as { forks: { workspace: { id: string } }[] }
  return forks.map(({ workspace }) => workspace.id)
}

it(`${many} forks in one call`, { timeout: 600_000 }, async () => {
  const { aw, first } = await openHome()
  write(first, 'state', 'of the source')
  const results = await timed('forks in one call', () => aw.fork(first.id, { count: many }))
  expect(results.flatMap((one) => (one.ok ? [] : [one.error]))).toEqual([])
  expectIndependent(
    first,
    results.flatMap((one) => (one.ok ? [one.result] : [])),
  )
  await expectWell(aw)
})

it.each([
  { how: 'by their names', id: (index: number) => `fork-${index}/main` },
  { how: 'that number themselves', id: () => undefined },
])(`${many} forks in calls at once, $how`, { timeout: 600_000 }, async ({ how, id }) => {
  const { aw, first } = await openHome()
  write(first, 'state', 'of the source')
  const calls = (): Promise<Workspace[]> =>
    Promise.all(Array.from({ length: many }, (_, index) => aw.fork(first.id, { id: id(index) })))
  expectIndependent(first, await timed(`calls at once, ${how}`, calls))
  await expectWell(aw)
})

it.each([
  { how: 'by their names', to: (index: number) => [`fork-${index}/main`] },
  { how: 'that number themselves', to: () => [] },
])(`${many} forks from ${processes} processes, $how`, { timeout: 600_000 }, async ({ how, to }) => {
  const { aw, home, first } = await openHome()
  write(first, 'state', 'of the source')
  const each = `${many / processes}`
  const run = (_: unknown, index: number): Promise<string[]> =>
    aFork([first.id, ...to(index), '--count', each, '--home', home])
  const ids = await timed(`from ${processes} processes, ${how}`, () =>
    Promise.all(Array.from({ length: processes }, run)),
  )
  const forks: Workspace[] = []
  for (const id of ids.flat()) forks.push(await aw.get(id))
  expectIndependent(first, forks)
  await expectWell(aw)
})
