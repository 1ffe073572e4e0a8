import { join } from 'node:path'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { hasId, idsKey } from '../../../sys/processes/ids.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { ownProcess } from '../../../sys/processes/process.ts'
import { programKey } from './start/bwrap-program.ts'
import { boxProgram } from './program.ts'
import { passingName, putFile } from './unfinished.ts'

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
  const memo = join(run, `.works-${isolation}`)
  const programs = [boxProgram(), ...(program === undefined ? [] : [program])].map(programKey)
  const key = [ownProcess().boot_id, process.getuid?.(), idsKey(), ...programs].join('\n')
  const known = readIfPresent(memo) === key
  const name = passingName('probe')
  const tree = join(run, `${name}.tree`)
  if (!known) hostFs.mkdirSync(tree, 0o755)
  if (!known && process.getuid?.() === 0 && hasId(nobody)) hostFs.lchownSync(tree, nobody, nobody)
  return {
    known,
    name,
    tree,
    remember: () => putFile(run, memo, Buffer.from(key)),
    [Symbol.dispose]: () => {
      if (!known) hostFs.rmdirSync(tree)
    },
  }
}

const nobody = 65_534
