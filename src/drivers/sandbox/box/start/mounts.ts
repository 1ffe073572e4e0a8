import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { quotePath } from '../../../../domain/paths.ts'
import { assertMountTarget, protectedNames } from '../../../../domain/sandbox/mount-target.ts'
import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import { withResolvedEntry } from '../../../../sys/safe-fs/walk.ts'
import type { BoxMount } from './bwrap.ts'
import { sharedFile } from '../shared-files.ts'
import {
  isMissing,
  type MountedName,
  planMountedName,
  planProtectedIfPresent,
  replaced,
  type TreeLookup,
} from './protect.ts'
import type { Placeholder } from '../record.ts'
import { type MountSources, openSource } from './mount-sources.ts'
import type { BoxTree } from '../tree.ts'

/** What a box mounts below its tree, planned before anything is made. */
export interface PlannedMounts {
  readonly protect: readonly MountedName[]
  /** Binds whose target is in the tree. */
  readonly within: readonly (MountedName & { readonly source: string; readonly writable: boolean })[]
  /** What of `protectWithin` there was nothing to hold of, as it was given. */
  readonly absent: readonly string[]
  /** What of `protectWithin` is held otherwise, or not at all, and why. */
  readonly notes: readonly string[]
}

/** What can be said of mounts without a look at the tree: `invalid_input` for places where nothing can be mounted. */
export function assertMountPlaces(spec: Omit<SandboxSpec, 'attachment'>): void {
  assertMountTarget(spec.mount, 'The workspace')
  assertTargets(spec)
}

/** `sandbox_unenforceable` or `invalid_input` for what cannot be mounted; makes nothing. */
export function planMounts(spec: SandboxSpec, find: TreeLookup): PlannedMounts {
  const held = (spec.protectWithin ?? []).map((given) => ({ given, ...planProtectedIfPresent(find, given) }))
  const absent = held.flatMap(({ given, name }) => (name === undefined ? [given] : []))
  const protect = [
    ...spec.protect.map((name) => planMountedName(find, name)),
    ...held.flatMap(({ name }) => (name === undefined ? [] : [name])),
  ]
  const within = spec.binds
    .filter(({ target }) => target.startsWith(`${spec.mount}/`))
    .map(({ source, target, writable }) => {
      const planned = planMountedName(find, target.slice(spec.mount.length + 1), 'directory')
      return { ...planned, source, writable }
    })
  return { protect, within, absent, notes: held.flatMap(({ note }) => note ?? []) }
}

/** The same mounts on the tree as it is now: a name may have come or gone since the plan. Makes nothing. */
export function mountsNow(planned: PlannedMounts, find: TreeLookup): PlannedMounts {
  const now = <T extends MountedName>(name: T): T => ({ ...name, missing: isMissing(find, name) })
  const come = planned.absent.flatMap((given) => planProtectedIfPresent(find, given).name ?? [])
  return { ...planned, protect: [...planned.protect.map(now), ...come], within: planned.within.map(now) }
}

/** Names that have to be made before they can be mounted on. */
export const placeholdersOf = ({ protect, within }: PlannedMounts): Placeholder[] =>
  [...protect, ...within].filter(({ missing }) => missing).map(({ path, kind }) => ({ path, kind }))

/** No bind hides the tree, what is protected in it, or another bind; nor is it in what is protected. */
function assertTargets({ mount, protect, protectWithin = [], binds }: Omit<SandboxSpec, 'attachment'>): void {
  const held = [...protect, ...protectWithin].map((name) => join(mount, ...protectedNames(name)))
  for (const [index, { target }] of binds.entries()) {
    assertMountTarget(target, 'What is bound')
    if (isIn(mount, target)) throw refused(target, 'it would hide the workspace')
    const name = held.find((path) => isIn(path, target) || isIn(target, path))
    if (name !== undefined) throw refused(target, `${quotePath(name)} is protected`)
    if (binds.findIndex((other) => other.target === target) < index) throw refused(target, 'something is there already')
  }
}

const isIn = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`)

const refused = (target: string, why: string): AwError =>
  new AwError('invalid_input', `Nothing can be bound at ${quotePath(target)} in the sandbox: ${why}`, {
    hint: 'Choose a directory of its own, as /shared/data',
    data: { path: target },
  })

/** The mounts of a box, each by what is there now; a directory comes before what is in it. */
export function makeMounts(
  { spec, run }: { readonly spec: SandboxSpec; readonly run: string },
  tree: BoxTree,
  planned: PlannedMounts,
  sources: MountSources,
): BoxMount[] {
  const below = (names: readonly string[], writable: boolean): BoxMount =>
    withResolvedEntry(
      tree.root,
      { names, directory: false, rebased: false },
      { follow: false },
      ({ fd, names: reached }) => {
        if (fd === undefined || reached.join('/') !== names.join('/')) throw replaced(names.join('/'))
        const source = sources.add(fd, join(spec.attachment.path, ...names))
        return { source, target: join(spec.mount, ...names), writable }
      },
    )
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
  for (const { names, masked } of planned.protect) {
    add(masked ? bind(sharedFile(run, nothing), join(spec.mount, ...names), false) : below(names, false))
  }
  for (const { source, target, writable } of spec.binds) add(bind(source, target, writable))
  const sorted = [...mounts.values()].toSorted((a, b) => (a.target < b.target ? -1 : 1))
  return [
    { source: sources.add(tree.root.fd, spec.attachment.path), target: spec.mount, writable: true },
    // Those of the tree come after it; one that holds the tree would hide it.
    ...sorted,
  ]
}

const nothing = Buffer.alloc(0)
