import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { parsePath, quotePath } from '../../domain/paths.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'
import { withSpot } from '../safe-fs/walk.ts'
import type { BoxMount } from './bwrap.ts'
import { assertPlace } from './places.ts'
import { type Look, type MountedName, planMountedName } from './protect.ts'
import type { Placeholder } from './record.ts'
import { openSource, type Sources } from './sources.ts'
import type { BoxTree } from './tree.ts'

/** What a box mounts below its tree, planned before anything is made. */
export interface PlannedMounts {
  readonly protect: readonly MountedName[]
  /** Binds whose target is in the tree. */
  readonly within: readonly (MountedName & { readonly source: string; readonly writable: boolean })[]
  readonly placeholders: readonly Placeholder[]
}

/** `sandbox_unenforceable` or `invalid_input` for what cannot be mounted; makes nothing. */
export function planMounts(spec: SandboxSpec, find: Look): PlannedMounts {
  assertPlace(spec.mount, 'The workspace')
  for (const { target } of spec.binds) assertTarget(target, spec.mount)
  const present = (spec.protectWithin ?? []).filter((name) => isSomewhere(find, name))
  const protect = [...spec.protect, ...present].map((name) => planMountedName(find, name))
  const within = spec.binds
    .filter(({ target }) => target.startsWith(`${spec.mount}/`))
    .map(({ source, target, writable }) => {
      const planned = planMountedName(find, target.slice(spec.mount.length + 1), 'directory')
      return { ...planned, source, writable }
    })
  const placeholders = [...protect, ...within]
    .filter(({ missing }) => missing)
    .map(({ path, kind }): Placeholder => ({ path, kind }))
  return { protect, within, placeholders }
}

/** Whether the directory of a name is there. */
function isSomewhere(find: Look, name: string): boolean {
  const { names } = parsePath(name, { absolute: 'reject', root: false })
  return names.length < 2 || find(names.slice(0, -1)) !== undefined
}

function assertTarget(target: string, mount: string): void {
  assertPlace(target, 'What is bound')
  if (target !== mount && !mount.startsWith(`${target}/`)) return
  throw new AwError('invalid_input', `${quotePath(target)} would hide the workspace`, { data: { path: target } })
}

/** The mounts of a box, each by what is there now; a directory comes before what is in it. */
export function makeMounts(spec: SandboxSpec, tree: BoxTree, planned: PlannedMounts, sources: Sources): BoxMount[] {
  const below = (names: readonly string[], writable: boolean): BoxMount =>
    withSpot(tree.root, { names, directory: false, rebased: false }, { follow: false }, ({ fd }) => ({
      source: sources.add(fd ?? tree.root.fd, join(spec.attachment.path, ...names)),
      target: join(spec.mount, ...names),
      writable,
    }))
  const bind = (source: string, target: string, writable: boolean): BoxMount => {
    const fd = openSource(source)
    try {
      return { source: sources.add(fd, source), target, writable }
    } finally {
      closeSync(fd)
    }
  }
  const mounts = new Map<string, BoxMount>()
  const add = (mount: BoxMount): void => void mounts.set(mount.target, mount)
  for (const { above } of [...planned.protect, ...planned.within]) {
    for (const names of above) if (!mounts.has(join(spec.mount, ...names))) add(below(names, true))
  }
  for (const { names } of planned.protect) add(below(names, false))
  for (const { source, target, writable } of spec.binds) add(bind(source, target, writable))
  const sorted = [...mounts.values()].toSorted((a, b) => (a.target < b.target ? -1 : 1))
  return [
    { source: sources.add(tree.root.fd, spec.attachment.path), target: spec.mount, writable: true },
    // Those of the tree come after it; one that holds the tree would hide it.
    ...sorted,
  ]
}
