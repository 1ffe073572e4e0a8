/**
 *   check.ts HOME DRIVER LINES ACKNOWLEDGED UNTIL
 *
 * Opens a home on a disk that was cut off, recovers, and prints what is wrong: with what was acknowledged, between the
 * log and the disk, and with what can still be done.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openAw, type Aw } from '../../src/index.ts'
import { digestOf } from './digest.ts'
import { expectedAfter, type Expected, type Line } from './facts.ts'

const [home = '', driver = '', file = '', acknowledged = '', until = ''] = process.argv.slice(2)
const problems: string[] = []
const counts = { workspaces: 0, trees: 0, snapshots: 0, recovered: 0 }

function same(what: string, found: unknown, wanted: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (left !== right) problems.push(`${what}: ${left}, not ${right}`)
}

const lines = fs
  .readFileSync(file, 'utf8')
  .split('\n')
  .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))

try {
  await using aw = await openAw({ home, set: { 'storage.driver': driver, 'snapshots.max': '0' } })
  await recovered(aw)
  await agrees(aw)
  for (const one of expectedAfter(lines, Number(acknowledged), Number(until))) await kept(aw, one)
  await goesOn(aw)
  await agrees(aw)
} catch (error) {
  problems.push(error instanceof Error ? `${error.stack} ${JSON.stringify(error)}` : String(error))
}
console.log(JSON.stringify({ problems, counts }))

async function recovered(aw: Aw): Promise<void> {
  const { recovered, busy, failed, found, lost, orphans } = await aw.recover()
  counts.recovered = recovered.length
  same('recover', { busy, failed, found, lost, orphans }, { busy: [], failed: [], found: [], lost: [], orphans: [] })
  const again = await aw.recover()
  same('recover again', [again.recovered, again.leftovers], [[], []])
}

/** Log == disk, which is read here by hand. */
async function agrees(aw: Aw): Promise<void> {
  const all = await aw.list({ all: true })
  same(
    'in progress',
    all.flatMap(({ operation }) => operation ?? []),
    [],
  )
  const snapshots: string[] = []
  for (const { id } of all) for (const one of await aw.snapshots(id)) snapshots.push(one.id)
  const isLive = ({ state }: { state: string }): boolean => state !== 'trashed' && state !== 'purged'
  same(
    'volumes',
    treesIn('volumes'),
    all
      .filter(isLive)
      .map(({ id }) => id)
      .toSorted(),
  )
  same('trash', treesIn('trash'), all.flatMap(({ trash }) => trash.map(({ tree }) => tree)).toSorted())
  same('snapshots', treesIn('snapshots'), snapshots.toSorted())
  same('tmp', treesIn('tmp'), [])
  same(
    'links',
    all.filter(isLive).map(({ path }) => fs.readlinkSync(path)),
    all.filter(isLive).map(({ id }) => join(home, 'storage/volumes', id)),
  )
  same('the log', (await aw.audit.verify()).problems, [])
  same(
    'what snapshots hold',
    (await aw.verify()).snapshots.flatMap((one) => one.problems),
    [],
  )
  const { findings } = await aw.doctor({ rebuild: true })
  same(
    'doctor',
    findings.filter(({ status }) => status === 'problem'),
    [],
  )
  same(
    'the read model',
    findings.find(({ name }) => name === 'read model')?.message.replace(/^.*; /u, ''),
    '0 differed',
  )
}

function treesIn(area: string): string[] {
  const records = join(home, 'storage/records')
  if (!fs.existsSync(records)) return fs.readdirSync(join(home, 'storage', area)).toSorted()
  const names = fs.readdirSync(records).filter((name) => name.startsWith(`${area}.`))
  return names.map((name) => name.slice(area.length + 1)).toSorted()
}

async function kept(aw: Aw, one: Expected): Promise<void> {
  const found = (await aw.list({ all: true })).find(({ id, name }) =>
    one.id === undefined ? name === one.name : id === one.id,
  )
  const state = found?.state ?? 'absent'
  if (!(one.states as Set<string>).has(state))
    problems.push(`${one.name} is ${state}, not ${[...one.states].join(' or ')}`)
  if (found === undefined) return
  counts.workspaces += 1
  const listed = new Set((await aw.snapshots(found.id)).map(({ id }) => id))
  for (const [id, { fate }] of one.snapshots) {
    if (fate !== 'perhaps' && listed.has(id) !== (fate === 'there'))
      problems.push(`${id} of ${one.name} is not ${fate}`)
  }
  if (state === 'purged') return
  if (state === 'trashed') await aw.undelete(found.id)
  if (one.trees !== undefined) {
    counts.trees += 1
    const tree = digestOf(found.path)
    if (!one.trees.has(tree)) problems.push(`${one.name} holds ${tree}, not ${[...one.trees].join(' or ')}`)
  }
  for (const [id, { tree }] of one.snapshots) if (listed.has(id)) await holds(aw, found, id, tree)
}

async function holds(
  aw: Aw,
  { id, name }: { id: string; name: string },
  snapshot: string,
  tree: string,
): Promise<void> {
  counts.snapshots += 1
  const fork = await aw.fork(id, { id: 'look/main', at: snapshot })
  same(`${snapshot} of ${name}`, digestOf(fork.path), tree)
  await aw.destroy(fork.id, { purge: true })
}

async function goesOn(aw: Aw): Promise<void> {
  const one = await aw.create({ id: 'after/main' })
  fs.writeFileSync(join(one.path, 'work/file'), 'one')
  const { id } = await aw.snapshot(one.id)
  fs.writeFileSync(join(one.path, 'work/file'), 'two')
  const fork = await aw.fork(one.id, { id: 'after/fork' })
  await aw.restore(one.id, id)
  const read = (path: string): string => fs.readFileSync(join(path, 'work/file'), 'utf8')
  same('after a restore', [read(one.path), read(fork.path)], ['one', 'two'])
  for (const { id } of [fork, one]) await aw.destroy(id, { purge: true })
}
