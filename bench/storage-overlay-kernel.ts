import { execFileSync } from 'node:child_process'
import { closeSync, fsync, mkdirSync, openSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { mounts, syncFileSystem } from '../src/sys/fs/mounts.ts'
import { openHandLog } from './hand-log.ts'
import { compete, type often } from './row.ts'
import type { SourceTree } from './storage-tree.ts'

/**
 * What a fork by overlay takes at the least, in milliseconds: a layer, a mount, and on the disk a link that tells of it.
 * `forkLogged`: the same between two lines of a log, the first on its way to the disk while the tree is made. Nothing is
 * looked up, checked, locked or written into the tree.
 */
export type OverlayKernel = Readonly<Record<'fork' | 'forkLogged', number>>

const flush = promisify(fsync)

export async function measureOverlayKernel(
  parent: string,
  source: SourceTree,
  { rounds, warmUp }: typeof often,
): Promise<OverlayKernel> {
  const folder = join(parent, 'overlay-kernel')
  const [lower, records] = [join(folder, 'lower'), join(folder, 'records')]
  for (const path of [folder, records]) mkdirSync(path)
  execFileSync('cp', ['-a', source.tree, lower])
  using log = openHandLog(join(folder, 'log.db'))
  const directory = openSync(records, 'r')
  const settle = (): void => syncFileSystem(folder)
  const made: string[] = []
  const mount = (name: string): void => {
    const [layer, place] = [join(folder, `layer-${name}`), join(folder, name)]
    const upper = { fs: join(layer, 'fs'), work: join(layer, 'work') }
    for (const path of [layer, upper.fs, upper.work, place]) mkdirSync(path)
    const fd = mounts.overlay({ lower: [lower], upper })
    mounts.attach(fd, place)
    closeSync(fd)
    made.push(place)
  }
  const record = (name: string): Promise<void> => {
    symlinkSync(`layer-${name}`, join(records, name))
    return flush(directory)
  }
  try {
    return await compete(
      rounds,
      {
        fork: {
          before: settle,
          timed: async (round) => {
            mount(`fork-${round}`)
            await record(`fork-${round}`)
          },
        },
        forkLogged: {
          before: settle,
          timed: async (round) => {
            const intent = log.line()
            mount(`logged-${round}`)
            await intent
            await record(`logged-${round}`)
            await log.line()
          },
        },
      },
      warmUp,
    )
  } finally {
    closeSync(directory)
    for (const place of made) execFileSync('umount', [place])
    rmSync(folder, { recursive: true })
  }
}
