import { basename } from 'node:path'
import { boxProgram } from './box/program.ts'
import { type Elsewhere, mountsWhere } from './mounts.ts'
import { readLink, statOf } from './process.ts'
import { startProgram } from './start-program.ts'

/**
 * What a sandbox is started in has copies of all mounts of the moment, also of the trees of other workspaces: nobody uses
 * them there, and nobody inside can reach them. They are unmounted where they are in the way. A process with several
 * threads cannot enter a mount namespace: a small program does.
 */
export async function dropCopies(path: string, device: string): Promise<void> {
  const { others } = mountsWhere((mount) => mount.device === device && mount.path === path)
  const copies = others.filter((one) => !one.follows && isOfBox(one))
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

/** Whoever supervises a sandbox starts its walls in a namespace of their own, and nothing else. */
function isOfBox({ process }: Elsewhere): boolean {
  const supervisor = readLink(`/proc/${statOf(process).parent}/exe`) ?? ''
  return basename(supervisor).startsWith('aw-box')
}
