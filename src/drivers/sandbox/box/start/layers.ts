import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import type { Attachment } from '../../../../ports/storage-driver.ts'
import { ensureDirectory } from '../../../../sys/fs/directories.ts'
import { escapeOption } from '../../../../sys/fs/mounts.ts'
import { openTree as openLayer } from '../../../../sys/safe-fs/root.ts'
import type { BoxMount } from './bwrap.ts'
import type { Tag } from '../frames.ts'
import type { PlannedMounts } from './mounts.ts'
import type { TreeLookup } from './protect.ts'
import { byDescriptor, openSource } from './mount-sources.ts'
import type { Making } from './opened-tree.ts'
import { statBelow } from '../tree.ts'
import { sharedFile } from '../shared-files.ts'

/** A tree of layers, which an ordinary user can mount in a user namespace of the box's own and nowhere else. */
export type Layers = Extract<Attachment, { kind: 'overlay' }>

/** What a name of such a tree is: the uppermost layer that has it decides; a device there says that it was removed. */
export function layerLookup({ upper, lower }: Layers): TreeLookup {
  return (names) => {
    for (const path of [upper, ...lower]) {
      using root = openLayer(path, { resolver: 'walk' })
      const stats = statBelow(root, names)
      if (stats !== undefined) return stats.isCharacterDevice() ? undefined : stats
    }
    return undefined
  }
}

/** Mounts the layers on a stage and takes everything from there. What is missing is made in them by the walls' program. */
export function layeredMounts(
  { spec, run }: { readonly spec: SandboxSpec; readonly run: string },
  layers: Layers,
  planned: PlannedMounts,
  { directory, held }: Making,
): { tags: Tag[]; mounts: BoxMount[] } {
  const stage = join(directory, 'stage')
  const empty = join(directory, 'empty')
  for (const path of [stage, empty]) ensureDirectory(path, 0o700)
  const tree = join(stage, 'tree')
  const emptyFile = planned.protect.some(({ kind }) => kind === 'file') ? sharedFile(run, Buffer.alloc(0)) : empty
  const mounts = new Map<string, BoxMount>()
  const add = (source: string, target: string, writable: boolean): void =>
    void mounts.set(target, { source: { path: source }, target, writable })
  for (const { above } of [...planned.protect, ...planned.within])
    for (const names of above) add(join(tree, ...names), join(spec.mount, ...names), true)
  for (const { names, kind, missing, masked } of planned.protect) {
    const nothing = kind === 'file' ? emptyFile : empty
    add(missing || masked ? nothing : join(tree, ...names), join(spec.mount, ...names), false)
  }
  const others = byDescriptor(held)
  for (const { source, target, writable } of spec.binds) {
    const fd = openSource(source)
    try {
      mounts.set(target, { source: others.add(fd, source), target, writable })
    } finally {
      closeSync(fd)
    }
  }
  return {
    tags: [
      ['n', ''],
      ['g', stage],
      ['o', 'tree'],
      ...layers.lower.map((path): Tag => ['l', path]),
      ['U', escapeOption(layers.upper)],
      ['W', escapeOption(layers.work)],
      ...others.tags,
    ],
    mounts: [
      { source: { path: tree }, target: spec.mount, writable: true },
      ...[...mounts.values()].toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    ],
  }
}
