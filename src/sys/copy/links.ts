import * as fs from 'node:fs'
import type { State } from './state.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { at, type Name } from '../safe-fs/descriptors.ts'
import { openFrom } from '../safe-fs/directory-stack.ts'
import { nodeName } from '../trees/names.ts'
import { identityIn, linksIn, type StatFingerprint } from '../trees/stat.ts'
import { unlock } from '../trees/unlock.ts'

/** Files with several names. In the copy they are one file too, also when only some of the names are copied again. */

const wayTo = (state: State, name: string): Name[] => [...state.from.names, nodeName(name)]

/** Whether another name of it was copied, so that this one cannot stay what it was. */
export const hasCopiedLink = (state: State, print: StatFingerprint): boolean =>
  linksIn(print) > 1 && state.links.has(identityIn(print))

/** Whether this is the first of its names. */
export const isFirst = (state: State, print: StatFingerprint): boolean =>
  linksIn(print) === 1 || !(state.links.has(identityIn(print)) || state.kept.has(identityIn(print)))

/**
 * Answers what the file was when its first name was copied. Undefined if it has none in the copy yet, or the way to it is
 * closed: then it is copied.
 */
export function linkToCopiedFile(state: State, name: string, print: StatFingerprint): StatFingerprint | undefined {
  const twin = linksIn(print) > 1 ? state.links.get(identityIn(print)) : undefined
  if (twin === undefined) return undefined
  let directory = state.target
  try {
    directory = openFrom(state.target, twin.way.slice(0, -1))
    hostFs.linkSync(at(directory, twin.way.at(-1) ?? ''), at(state.to.top(), nodeName(name)))
    return twin.print
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EMLINK')) return undefined
    throw error
  } finally {
    if (directory !== state.target) fs.closeSync(directory)
  }
}

/** It stays as it was. */
export function noteKeptLink(state: State, name: string, print: StatFingerprint): void {
  if (linksIn(print) === 1) return
  const ways = state.kept.get(identityIn(print))
  if (ways === undefined) state.kept.set(identityIn(print), [wayTo(state, name)])
  else ways.push(wayTo(state, name))
}

/** It was copied: names that were met before and stayed as they were become names of the copy. */
export function noteCopiedLink(state: State, name: string, print: StatFingerprint): void {
  if (linksIn(print) === 1) return
  const identity = identityIn(print)
  state.links.set(identity, { way: wayTo(state, name), print })
  for (const way of state.kept.get(identity) ?? []) replaceByLink(state, way, name)
  state.kept.delete(identity)
}

/** The directory may have been dressed already: it stays as it is, its times too. */
function replaceByLink(state: State, way: readonly Name[], name: string): void {
  const directory = openFrom(state.target, way.slice(0, -1))
  try {
    using _ = unlock(directory, 0o700)
    const { atimeNs, mtimeNs } = fs.fstatSync(directory, { bigint: true })
    const place = at(directory, way.at(-1) ?? '')
    hostFs.unlinkSync(place)
    hostFs.linkSync(at(state.to.top(), nodeName(name)), place)
    hostFs.utimesNsSync(at(directory, '.'), atimeNs, mtimeNs)
  } finally {
    if (directory !== state.target) fs.closeSync(directory)
  }
}
