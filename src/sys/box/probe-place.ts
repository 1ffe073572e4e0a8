import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { hostFs } from '../host-fs.ts'
import { memoFile } from '../memo-file.ts'
import { ownProcess } from '../process.ts'
import { programKey } from './bwrap-program.ts'
import { boxProgram } from './program.ts'
import { ensureRun } from './record.ts'

export interface ProbePlace extends Disposable {
  /** It worked before, with the same programs, since the machine was started. */
  readonly known: boolean
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
  remember(): void
}

/** Somewhere to try out a box. */
export function probePlace(run: string, isolation: string, program: string | undefined): ProbePlace {
  ensureRun(run)
  const memo = join(run, `.works-${isolation}`)
  const programs = [boxProgram(), ...(program === undefined ? [] : [program])].map(programKey)
  const key = [ownProcess().boot_id, process.getuid?.(), ...programs].join('\n')
  const known = memoFile.read(memo) === key
  const random = randomBytes(6).toString('hex')
  const tree = join(run, `.probe-${random}`)
  if (!known) hostFs.mkdirSync(tree, 0o755)
  if (!known && process.getuid?.() === 0) hostFs.lchownSync(tree, nobody, nobody)
  return {
    known,
    name: `probe-${random}`,
    tree,
    remember: () => memoFile.write(memo, key),
    [Symbol.dispose]: () => {
      if (!known) hostFs.rmdirSync(tree)
    },
  }
}

const nobody = 65_534
