import { basename } from 'node:path'
import { boxProgram } from '../../../sandbox/box/program.ts'
import { findMounts, type ForeignMount, type Mounted } from '../../../../sys/fs/mounts.ts'
import { readLink, statOf } from '../../../../sys/processes/process.ts'
import { startProgram } from '../../../../sys/processes/start-program.ts'

/**
 * What a sandbox is started in has copies of all mounts of the moment, also of the trees of other workspaces: nobody uses
 * them there, and nobody inside can reach them. They are unmounted where they are in the way. A process with several
 * threads cannot enter a mount namespace: a small program does.
 */
export async function unmountStaleCopies(path: string, isTree: (mount: Mounted) => boolean): Promise<void> {
  const { others } = findMounts((mount) => isTree(mount) && mount.path === path)
  const copies = others.filter((one) => !one.follows && isOfBox(one.process))
  if (copies.length === 0) return
  const where = copies.flatMap(({ process, namespace }) => [String(process), namespace.replaceAll(/\D/g, '')])
  const child = startProgram([boxProgram(), 'unmount', path, ...where], ['pipe', 'pipe', 'ignore'])
  const late = setTimeout(() => child.signal('SIGKILL'), timeoutMs)
  try {
    await child.ended()
  } finally {
    clearTimeout(late)
    child.endInput()
    child.output.destroy()
  }
}

const timeoutMs = 10_000

/**
 * Whether nothing but such copies is in the way. Its walls have some of their own while they are put up: those are no
 * longer there when they stand, and that takes as long as it takes.
 */
export const areStaleCopies = (path: string, others: readonly ForeignMount[]): boolean =>
  others.every((one) => one.path.endsWith(path) && isOfBox(one.process, wallsDepth))

/** The program that puts the walls up is started by the supervisor, and what it starts is inside. */
const wallsDepth = 3

/** Whoever supervises a sandbox starts its walls in a namespace of their own, and nothing else. One that is gone has nothing. */
function isOfBox(process: number, depth = 1): boolean {
  const { parent } = statOf(process)
  if (parent === undefined) return true
  if (basename(readLink(`/proc/${parent}/exe`) ?? '').startsWith('aw-box')) return true
  return depth > 1 && isOfBox(Number(parent), depth - 1)
}
