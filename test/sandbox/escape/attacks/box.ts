/** The box's own parts, and other boxes. */
import { readFileSync, writeFileSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { boxUid, isRoot, openPlace, owner } from '../../fixture.ts'
import type { Attack, BoxParts, Stage } from '../attack.ts'
import { canaryFile, canaryProcess, isLooted, listener } from '../canaries.ts'
import { fileOf, isAlive, patience, processesWith, within } from '../host-processes.ts'
import { startPlanned } from '../../../contracts/sandbox.ts'

/** Root's boxes run as users of their own, each as another. */
const byOwner = { none: { user: 'not held', root: 'held' }, guarded: 'held', namespace: 'held' } as const

/** Where the host sees process 1 of a box, or what stands for it. */
function initOf({ sandbox }: BoxParts): number {
  const below = (pid: number): number[] =>
    fileOf(pid, `task/${pid}/children`)
      .split(' ')
      .filter((word) => word !== '')
      .map(Number)
  const all: number[] = []
  for (let next = below(sandbox.owner.pid); next.length > 0; next = next.flatMap(below)) all.push(...next)
  const found = all.find(
    (pid) => fileOf(pid, 'cmdline').endsWith('init\0') && !fileOf(pid, 'cmdline').includes('bwrap'),
  )
  if (found === undefined) throw new Error('the box has no init')
  return found
}

/** It answers, and runs commands. */
async function isBroken({ box, held }: Stage): Promise<boolean> {
  let answer: number | null | undefined
  box?.sandbox.exec({ argv: ['true'], cwd: '.', env: {}, limits: {} }).exit.then(
    ({ code }) => (answer = code),
    () => (answer = null),
  )
  await held(3_000, () => answer !== undefined)
  return answer !== 0
}

export const boxAttacks: readonly Attack[] = [
  {
    name: 'init-signals',
    kind: 'the box itself',
    does: 'sends every signal to the first process of its box',
    alone: true,
    expected: { none: 'not held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const target = stage.box === undefined ? (await canaryProcess(stage)).pid : initOf(stage.box)
      await stage.run([stage.tool, 'every-signal', '%marker', String(target)]).catch(() => undefined)
      return stage.box === undefined ? stage.harmed(100, () => !isAlive(target)) : isBroken(stage)
    },
  },
  {
    name: 'init-memory',
    kind: 'the box itself',
    does: 'attaches to it, writes to its memory, takes its socket and speaks in its place',
    alone: true,
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    note: 'it is not dumpable: the kernel refuses all of it, whoever asks',
    async attempt(stage) {
      const canary = stage.box === undefined ? await canaryProcess(stage) : undefined
      const target = canary?.pid ?? initOf(stage.box as BoxParts)
      for (const attack of ['ptrace', 'vm-write', 'mem-file']) {
        await stage.run([stage.tool, attack, '%marker', String(target), canary?.address ?? '0x400000'])
      }
      await stage.run([stage.tool, 'get-fd', '%marker', String(target), canary === undefined ? '3' : '9'])
      const files = 'for f in 3 4 5; do echo x > /proc/$1/fd/$f; echo x > /proc/1/fd/$f; done'
      await stage.run(['timeout', '2', 'sh', '-c', files, '%marker', String(target)])
      if (canary !== undefined) return isLooted(stage, canary.secret) && stage.harmed(100, canary.isHit)
      return isBroken(stage)
    },
  },
  {
    name: 'init-program',
    kind: 'the box itself',
    does: 'overwrites the program that is the first process, by /proc/1/exe',
    alone: true,
    plainly: 'it is shown on another program above (/proc/PID/exe)',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      if (stage.box === undefined) return false
      const program = fileOf(stage.box.sandbox.owner.pid, 'cmdline').split('\0')[0] ?? ''
      const before = readFileSync(program)
      const script = 'for p in /proc/1/exe /run/aw/box /proc/$1/exe "$2"; do echo x >> $p; cp /bin/true $p; done'
      await stage.run(['sh', '-c', script, '%marker', String(initOf(stage.box)), isRoot ? program : '/nowhere'])
      return !before.equals(readFileSync(program)) || isBroken(stage)
    },
  },
  {
    name: 'supervisor-signals',
    kind: 'the box itself',
    does: 'sends every signal to the supervisor of its box',
    alone: true,
    expected: byOwner,
    async attempt(stage) {
      const target = stage.box === undefined ? (await canaryProcess(stage)).pid : stage.box.sandbox.owner.pid
      await stage.run([stage.tool, 'every-signal', '%marker', String(target)]).catch(() => undefined)
      return stage.harmed(100, () => !isAlive(target))
    },
  },
  {
    name: 'supervisor-socket',
    kind: 'the box itself',
    does: 'connects to the supervisor of another box and has it ended',
    alone: true,
    expected: byOwner,
    async attempt(stage) {
      // Somebody's service stands for it where the attacker has no boxes of its own.
      if (stage.where === 'plain') {
        const path = join(stage.outside, 's')
        const { heard } = await listener(stage, { path })
        await stage.run([stage.tool, 'unix', '%marker', path, stage.marker])
        return heard(stage.marker)
      }
      const other = await otherBox(stage)
      const { pid } = other.sandbox.owner
      await stage.run([stage.tool, 'stop-box', '%marker', join(other.place.base, 'run', 'other', 's')])
      return stage.harmed(300, () => !isAlive(pid))
    },
  },
  {
    name: 'other-tree',
    kind: 'other boxes',
    does: 'reads a file in the tree of another box',
    expected: byOwner,
    async attempt(stage) {
      if (stage.where === 'plain') {
        const { path, secret } = canaryFile(stage)
        await stage.run(['sh', '-c', 'cat "$1" > loot', '%marker', path])
        return isLooted(stage, secret)
      }
      const other = await otherBox(stage)
      const secret = `secret-${stage.marker.slice(-8)}`
      const file = join(other.place.tree, 'secret')
      writeFileSync(file, secret, { mode: 0o644 })
      if (isRoot) chownSync(file, owner, owner)
      await stage.run(['sh', '-c', 'cat "$1" > loot; cat /run/aw/stage/tree/secret >> loot', '%marker', file])
      return isLooted(stage, secret)
    },
  },
  {
    name: 'other-process',
    kind: 'other boxes',
    does: 'ends a process of another box by a signal',
    expected: byOwner,
    async attempt(stage) {
      const other = await otherBox(stage)
      const target = await processIn(other, stage)
      await stage.run([stage.tool, 'signal', '%marker', String(target)])
      return stage.harmed(100, () => !isAlive(target))
    },
  },
]

/** A box of the same level that has nothing to do with the attack. Without walls, what stands for one. */
async function otherBox(stage: Stage): Promise<Pick<BoxParts, 'sandbox' | 'place'>> {
  const level = stage.where === 'plain' ? 'none' : stage.where
  const place = openPlace(level)
  stage.defer(() => place.close())
  // Where there are no walls there are no users of boxes either.
  const uid = isRoot ? (stage.where === 'plain' ? boxUid : boxUid + 1) : undefined
  const sandbox = await startPlanned(place.driver, 'other', { ...place.spec, uid })
  stage.defer(() => place.driver.remove('other'))
  stage.defer(() => sandbox[Symbol.asyncDispose]())
  return { sandbox, place }
}

async function processIn({ sandbox }: Pick<BoxParts, 'sandbox'>, stage: Stage): Promise<number> {
  const word = `victim-${stage.marker.slice(-8)}`
  const running = sandbox.exec({ argv: ['sh', '-c', 'sleep 20; :', word], cwd: '.', env: {}, limits: {} })
  running.exit.catch(() => undefined)
  await within(patience, () => processesWith(word).length > 0)
  const [pid] = processesWith(word)
  if (pid === undefined) throw new Error('the other box runs nothing')
  return pid
}
