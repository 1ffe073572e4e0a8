import { closeSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { hasId } from '../../../sys/processes/ids.ts'
import { boxProgram } from './program.ts'
import { ensureRun } from './record.ts'
import { passingName } from './unfinished.ts'

/** Somewhere to try the walls of a box, with something outside of them that must not be reached. */
export interface TrialPlace extends Disposable {
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
  /** A file that whom the box runs as could read, if there were no walls. */
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
  const own = join(run, `${name}.outside`)
  hostFs.mkdirSync(tree, 0o755)
  closeSync(hostFs.createSync(own, 0o644))
  if (uid !== undefined) hostFs.lchownSync(tree, uid, uid)
  return {
    name,
    tree,
    // Root's directory for boxes is closed to others anyway.
    outside: (uid === undefined ? undefined : openToAll.find((path) => existsSync(path))) ?? own,
    uid,
    proxyUid: uid === undefined ? undefined : uid - 1,
    proxied: uid !== undefined || process.getuid?.() !== 0,
    [Symbol.dispose]: () => {
      hostFs.unlinkSync(own)
      hostFs.rmdirSync(tree)
    },
  }
}

/** The program that tries the walls, to be put into a box. */
export const wallsProgram = (): Buffer => readFileSync(boxProgram())

/** Everybody can read them, and boxes do not show them. */
const openToAll = ['/etc/hostname', '/etc/fstab', '/etc/machine-id']

const nobody = 65_534
