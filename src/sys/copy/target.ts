import { hasCode } from '../syscalls/errno.ts'
import { yieldAndReport, type Frame, type State } from './state.ts'
import { hostFs } from '../fs/host-fs.ts'
import type { Name } from '../safe-fs/descriptors.ts'
import { removeSteps } from '../safe-fs/write/remove.ts'
import { atBytes, nodeName } from '../trees/names.ts'
import { unlock } from '../trees/unlock.ts'

/** What a copy has in it already, and how it is changed. Nobody else can reach it. */

/**
 * Before anything is made or removed in the copy of the directory where we are: it is there from now on, lets us, and is
 * dressed in the end.
 */
export function prepareTarget(state: State): void {
  const { frames, to } = state
  if (frames.at(-1)?.copy === 'open') return
  let first = frames.length - 1
  while (frames[first]?.copy === 'missing') first -= 1
  for (const [depth, frame] of frames.entries()) {
    if (depth < first || frame.copy === 'open') continue
    if (frame.copy === 'kept') unlock(to.of(depth), 0o700)
    else {
      makeDirectory(atBytes(to.of(depth - 1), frame.name))
      state.changed += 1
    }
    frame.copy = 'open'
  }
}

export function makeDirectory(path: string | Buffer): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    // The profile's own directories are there before the source is.
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/** Removes what the copy has under this name, if it has anything. */
export async function removeFromTarget(state: State, frame: Frame, name: string): Promise<boolean> {
  if (!frame.before.delete(name)) return false
  forget(state, `${frame.path}${name}`)
  prepareTarget(state)
  try {
    hostFs.unlinkSync(atBytes(state.to.top(), name))
  } catch (error) {
    if (!hasCode(error, 'EISDIR', 'EPERM', 'ENOENT')) throw error
    for (const _ of removeSteps(state.to.top(), nodeName(name), name)) await yieldAndReport(state)
  }
  return true
}

/** What was begun there is copied anew, if it was moved to where it is met again. */
function forget({ begun, links }: State, path: string): void {
  // Else what is replaced was not met before, so nothing leads to it.
  if (begun.size === 0) return
  const isThere = (other: string): boolean => `${other}/`.startsWith(`${path}/`)
  for (const other of begun.keys()) if (isThere(other)) begun.delete(other)
  for (const [identity, { way }] of links) if (isThere(way.map(bytesOf).join('/'))) links.delete(identity)
}

const bytesOf = (name: Name): string => (typeof name === 'string' ? name : name.toString('latin1'))
