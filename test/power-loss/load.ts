/**
 *   load.ts HOME DRIVER SOURCE SEED
 *
 * Works in a home with all its might, in two places at once, and prints what it begins and what was acknowledged, until
 * its input ends.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openAw, type Aw, type Workspace } from '../../src/index.ts'
import { digestOf } from './digest.ts'
import { now, type Doing, type Fact } from './facts.ts'
import { randomFrom, type Random } from './random.ts'

const [home = '', driver = '', source = '', seed = '1'] = process.argv.slice(2)

/** What a worker knows of one of its workspaces. */
interface Mine {
  readonly name: string
  readonly id: string
  readonly path: string
  readonly base: string | null
  readonly snapshots: Map<string, string>
  readonly forked: Set<string>
  trashed: boolean
}

const made = ({ id, path }: { id: string; path: string }): object => ({ id, tree: digestOf(path) })
const enough = 8
const stop = new AbortController()
process.stdin.on('end', () => stop.abort()).resume()

await using aw = await openAw({ home, set: { 'storage.driver': driver, 'snapshots.max': '0' } })
// Not on the disk: by the time it could be read there, the disk may be gone.
const say = (fact: Fact): unknown => fs.writeSync(1, `${JSON.stringify({ ...fact, at: now() })}\n`)
await Promise.all([1, 2].map((worker) => work(aw, `w${worker}`, randomFrom(Number(seed) * 2 + worker))))

async function work(aw: Aw, prefix: string, random: Random): Promise<void> {
  const mine: Mine[] = []
  let count = 0

  async function telling<T extends object>(
    doing: Doing,
    call: () => Promise<T>,
    told?: (answer: T) => object,
  ): Promise<T> {
    say({ what: 'begin', doing })
    const answer = await call()
    say({ what: 'done', doing, ...told?.(answer) })
    return answer
  }

  function keep(name: string, { id, path, base }: Workspace): void {
    mine.push({ name, id, path, base, snapshots: new Map(), forked: new Set(), trashed: false })
  }

  async function create(): Promise<void> {
    const name = `${prefix}-${++count}/main`
    keep(name, await telling({ kind: 'create', name }, () => aw.create({ id: name, from: { folder: source } }), made))
  }

  async function fork(origin: Mine): Promise<void> {
    const name = `${prefix}-${++count}/fork`
    const at = random.below(2) === 0 ? random.oneOf([...origin.snapshots.keys()]) : undefined
    const tree = (at === undefined ? undefined : origin.snapshots.get(at)) ?? digestOf(origin.path)
    const fork = await telling(
      { kind: 'fork', name, tree },
      () => aw.fork(origin.id, { id: name, at }),
      (fork) => ({
        ...made(fork),
        snapshot: fork.base === origin.base ? undefined : { of: origin.name, id: fork.base, tree },
      }),
    )
    // A fork that is still what it began as is forked at that, which is another's.
    if (fork.base !== null && fork.base !== origin.base) {
      origin.snapshots.set(fork.base, tree)
      origin.forked.add(fork.base)
    }
    keep(name, fork)
  }

  async function snapshot(one: Mine): Promise<void> {
    const tree = digestOf(one.path)
    const { id } = await telling(
      { kind: 'snapshot', name: one.name },
      () => aw.snapshot(one.id),
      ({ id }) => ({
        snapshot: { of: one.name, id, tree },
      }),
    )
    one.snapshots.set(id, tree)
  }

  async function restore(one: Mine): Promise<void> {
    const [to, tree] = random.oneOf([...one.snapshots]) ?? []
    if (to === undefined || tree === undefined) return
    const before = digestOf(one.path)
    const { kept } = await telling(
      { kind: 'restore', name: one.name, tree },
      () => aw.restore(one.id, to),
      ({ kept }) => ({
        snapshot: kept === null ? undefined : { of: one.name, id: kept, tree: before },
      }),
    )
    if (kept !== null) one.snapshots.set(kept, before)
  }

  async function remove(one: Mine): Promise<void> {
    const snapshot = random.oneOf([...one.snapshots.keys()].filter((id) => !one.forked.has(id)))
    if (snapshot === undefined) return
    await telling({ kind: 'remove', name: one.name, snapshot }, () =>
      aw.snapshot.remove(one.id, { snapshots: [snapshot] }),
    )
    one.snapshots.delete(snapshot)
  }

  async function destroy(one: Mine): Promise<void> {
    await telling({ kind: 'destroy', name: one.name }, () => aw.destroy(one.id))
    one.trashed = true
  }

  async function undelete(one: Mine): Promise<void> {
    await telling({ kind: 'undelete', name: one.name }, () => aw.undelete(one.id))
    one.trashed = false
  }

  async function purge(one: Mine): Promise<void> {
    await telling({ kind: 'purge', name: one.name }, () => aw.purge(one.id))
    mine.splice(mine.indexOf(one), 1)
  }

  /** As an agent does it: without a thought of flushing. */
  function edit(one: Mine): void {
    say({ what: 'begin', doing: { kind: 'edit', name: one.name } })
    const at = join(one.path, 'work')
    const name = `file ${random.below(6)}`
    if (random.below(4) === 0) fs.rmSync(join(at, name), { force: true, recursive: true })
    else if (random.below(6) === 0) fs.rmSync(join(at, 'deep'), { force: true, recursive: true })
    else fs.writeFileSync(join(at, name), Buffer.alloc(1 + random.below(60_000), `${count} ${random.below(1e9)}`))
  }

  while (!stop.signal.aborted) {
    const live = mine.filter(({ trashed }) => !trashed)
    const one = random.oneOf(live)
    const gone = random.oneOf(mine.filter(({ trashed }) => trashed))
    const dice = random.below(20)
    if (one === undefined || (live.length < enough && dice < 2)) await create()
    else if (live.length < enough && dice < 6) await fork(one)
    else if (gone !== undefined && dice < 8) await (dice < 7 && live.length < enough ? undelete(gone) : purge(gone))
    else if (live.length > 3 && dice < 10) await destroy(one)
    else if (dice < 12) await remove(one)
    else if (dice < 15) await restore(one)
    else {
      for (let edits = random.below(4); edits > 0; edits--) edit(one)
      await snapshot(one)
    }
  }
}
