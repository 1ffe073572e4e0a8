/** Attacks that need luck: each swaps something again and again while somebody else uses it. */
import { existsSync, lstatSync, mkdirSync, chownSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { startPlanned } from '../../contracts/sandbox.ts'
import { isRoot, openPlace, owner } from '../fixture.ts'
import type { Attack, Stage } from './attack.ts'
import { runOnHost, startOnHost, endGroup } from './host-run.ts'

const rounds = Number(process.env['AW_ESCAPE_ROUNDS'] ?? 20)
/** Without walls it must come about at last. */
const plainRounds = 2_000

/** Exchanges two names as fast as it can. */
const swapper = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
until = time.monotonic() + float(sys.argv[4])
while time.monotonic() < until and os.path.lexists(sys.argv[2]):
    libc.renameat2(-100, sys.argv[2].encode(), -100, sys.argv[3].encode(), 2)
`
const plant = ['sh', '-c', 'echo x > planted']

export const races: readonly Attack[] = [
  {
    name: 'start-race',
    kind: 'files',
    does: 'has its tree exchanged for a link to another directory, to and fro, while boxes are started on it',
    alone: true,
    expected: { none: 'not held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const place = stage.box === undefined ? undefined : openPlace(stage.box.place.driver.isolation)
      stage.defer(() => place?.close())
      const { victim, tree, link } = swappable(stage, place?.tree)
      const swapping = startOnHost(process.getuid?.() ?? 0, [...python, swapper, stage.marker, tree, link, '60'], '/')
      stage.defer(() => endGroup(swapping))
      for (
        let round = 0;
        round < (place === undefined ? plainRounds : rounds * 3) && !existsSync(join(victim, 'planted'));
        round++
      ) {
        if (place === undefined) await careless(stage, tree)
        else await startAndPlant(place)
      }
      return existsSync(join(victim, 'planted'))
    },
  },
  {
    name: 'directory-race',
    kind: 'files',
    does: 'exchanges the directory that commands begin in for a link out, to and fro, while they are started',
    alone: true,
    expected: { none: 'not held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const [directory, link] = [join(stage.own, 'd'), join(stage.own, 'l')]
      mkdirSync(directory)
      symlinkSync(stage.outside, link)
      if (isRoot) chownSync(directory, stage.box === undefined ? stage.uid : owner, owner)
      const swapping = stage.run([...python, swapper, '%marker', 'd', 'l', '60'])
      swapping.catch(() => undefined)
      const cwd = join(basename(stage.own), 'd')
      for (
        let round = 0;
        round < (stage.box === undefined ? plainRounds : rounds * 20) && !existsSync(join(stage.outside, 'planted'));
        round++
      ) {
        if (stage.box === undefined) await careless(stage, directory)
        else await stage.run(plant, { cwd }).catch(() => undefined)
      }
      return existsSync(join(stage.outside, 'planted'))
    },
  },
]

const python = ['/usr/bin/python3', '-c']

function swappable(stage: Stage, given: string | undefined) {
  const victim = join(stage.outside, 'victim')
  const tree = given ?? join(stage.outside, 'tree')
  const link = `${tree}.link`
  mkdirSync(victim)
  if (given === undefined) mkdirSync(tree)
  if (isRoot) for (const path of given === undefined ? [victim, tree] : [victim]) chownSync(path, stage.uid, stage.uid)
  symlinkSync(victim, link)
  return { victim, tree, link }
}

/** Looks first, and goes there afterwards. */
async function careless(stage: Stage, directory: string): Promise<void> {
  if (lstatSync(directory).isDirectory())
    await runOnHost(stage.uid, ['sh', '-c', 'cd "$1" && echo x > planted', stage.marker, directory], '/')
}

async function startAndPlant({ driver, spec }: ReturnType<typeof openPlace>): Promise<void> {
  const box = await startPlanned(driver, 'race', spec).catch(() => undefined)
  if (box === undefined) return
  await box.exec({ argv: plant, cwd: '.', env: {}, limits: {} }).exit.catch(() => undefined)
  await box.stop({ graceMs: 0 })
}
