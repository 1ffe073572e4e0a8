import { closeSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostFs } from '../host-fs.ts'
import { hasId } from '../ids.ts'
import { boxProgram } from './program.ts'
import { ensureRun } from './record.ts'
import { passingName } from './unfinished.ts'

/** Somewhere to try the walls of a box, with something outside of them that must not be reached. */
export interface TrialPlace extends Disposable {
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
  /** A file of the user that the box runs as, where that user can get to it. */
  readonly outside: string
  /** Whom the box runs as, if root starts it; and its proxy. */
  readonly uid: number | undefined
  readonly proxyUid: number | undefined
  /** Whether there is somebody who could be its proxy. */
  readonly proxied: boolean
}

export function trialPlace(run: string): TrialPlace {
  ensureRun(run)
  const uid = process.getuid?.() === 0 && hasId(nobody) ? nobody : undefined
  const name = passingName('probe')
  const tree = join(run, `${name}.tree`)
  const outside = join(tmpdir(), `.aw-${name}`)
  hostFs.mkdirSync(tree, 0o755)
  closeSync(hostFs.createSync(outside, 0o644))
  if (uid !== undefined) for (const path of [tree, outside]) hostFs.lchownSync(path, uid, uid)
  return {
    name,
    tree,
    outside,
    uid,
    proxyUid: uid === undefined ? undefined : uid - 1,
    proxied: uid !== undefined || process.getuid?.() !== 0,
    [Symbol.dispose]: () => {
      hostFs.unlinkSync(outside)
      hostFs.rmdirSync(tree)
    },
  }
}

/** The program that tries the walls, to be put into a box. */
export const wallsProgram = (): Buffer => readFileSync(boxProgram())

const nobody = 65_534
