import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Probe } from '../../../ports/storage-driver.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { mountPath, mounts } from '../../../sys/fs/mounts.ts'
import { heldOverlays } from './kernel/holder.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { trySealing } from './kernel/sealed-directory.ts'

const overlayMagic = 0x794c7630
const nfsMagic = 0x6969

/** Mounts an overlay in a directory of ours, writes to it, and freezes its upper layer under another. */
export async function probeOverlay(directory: string): Promise<Probe> {
  const name = `probe-${process.pid}-${Date.now()}`
  const place = join(directory, name)
  try {
    for (const path of ['', 'lower', 'one', 'one-work', 'two', 'two-work', 'sealed'])
      hostFs.mkdirSync(join(place, path), 0o700)
    return process.getuid?.() === 0 ? tryMounts(place) : await trySandbox(place)
  } catch (error) {
    return unusable(directory, error)
  } finally {
    await removeTree(directory, name)
  }
}

function tryMounts(place: string): Probe {
  const at = (name: string): string => join(place, name)
  const one = mounts.overlay({ lower: [at('lower')], upper: { fs: at('one'), work: at('one-work') } })
  try {
    hostFs.mkdirSync(join(mountPath(one), 'made'), 0o700)
  } finally {
    fs.closeSync(one)
  }
  const two = mounts.overlay({ lower: [at('one'), at('lower')], upper: { fs: at('two'), work: at('two-work') } })
  try {
    hostFs.renameSync(join(mountPath(two), 'made'), join(mountPath(two), 'renamed'))
  } finally {
    fs.closeSync(two)
  }
  trySeal(at('sealed'))
  return {
    usable: true,
    notes: [
      'trees are overlay mounts: forks and snapshots of trees that nobody writes to take no time that grows with the tree',
      'the first write to a file of a snapshot copies that file, unless the file system shares blocks',
    ],
  }
}

/** Where a tree is not mounted for a moment, nobody must be able to write. */
function trySeal(path: string): void {
  try {
    trySealing(path)
  } catch (error) {
    throw new Error('directories cannot be made immutable here, which keeps writes from getting lost', { cause: error })
  }
}

async function trySandbox(place: string): Promise<Probe> {
  const at = (name: string): string => join(place, name)
  const fd = await heldOverlays.open({ lower: [at('lower')], upper: { fs: at('one'), work: at('one-work') } })
  try {
    hostFs.mkdirSync(join(mountPath(fd), 'made'), 0o700)
  } finally {
    fs.closeSync(fd)
  }
  return {
    usable: true,
    notes: [
      'without root, trees have no path on the host: they are seen inside sandboxes, and by aw itself',
      'a directory of a snapshot cannot be renamed: programs copy it instead',
    ],
  }
}

const hint = 'Use the storage driver dir, or run aw as root'

function unusable(directory: string, error: unknown): Probe {
  const why = error instanceof Error ? error.message : String(error)
  const kind = fileSystemOf(directory)
  if (kind === overlayMagic)
    return { usable: false, reasons: ['the storage root is on an overlay itself'], hint: elsewhere }
  if (kind === nfsMagic) return { usable: false, reasons: ['the storage root is on NFS'], hint: elsewhere }
  if (hasCode(error, 'EPERM')) return { usable: false, reasons: [`mounting is not permitted here: ${why}`], hint }
  return { usable: false, reasons: [why], hint: `${elsewhere}; Linux 6.8 or later is needed` }
}

const elsewhere = 'Put storage.root on a local disk with ext4, XFS or btrfs'

function fileSystemOf(path: string): number | undefined {
  try {
    return fs.statfsSync(path).type
  } catch {
    return undefined
  }
}
