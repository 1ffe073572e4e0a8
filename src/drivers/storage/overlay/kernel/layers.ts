import * as fs from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory, syncPath } from '../../../../sys/fs/directories.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { LOCK, native } from '../../../../sys/syscalls/native.ts'
import type { Place } from '../../../../ports/storage-driver.ts'
import type { Records, Stack } from './records.ts'
import { pooledRandomBytes } from '../../../../sys/home/random.ts'
import { removeTree } from '../../../../sys/safe-fs/index.ts'
import { attributesText, writeAttributes } from '../../../../sys/trees/attributes.ts'

/**
 * Layers: `<root>/layers/<id>` with the files in `fs` and, as long as it is the upper one of a tree, what the kernel
 * needs beside it in `work`. A layer has one set of layers below it for life: it is never copied, moved or put over
 * others, as the kernel refers to what is below by handles of the file system. So one that is not written to any more
 * always shows the same tree, and what that was when it was first verified is beside it in `tree`.
 */

/** At the bottom of every tree: an overlay needs something below. */
export const bottomLayer = '0'
/** Below that, where the kernel wants two. */
const secondBottomLayer = '1'

/**
 * A tree over nothing that nobody else looks into, as it is being built: its upper layer is all there is. Mounting it
 * would make every file in it slower to write.
 */
export const isSingleLayer = ({ area }: Place, [, below, ...others]: Stack): boolean =>
  below === undefined || (area === 'tmp' && below === bottomLayer && others.length === 0)

export const layersOf = (root: string): string => join(root, 'layers')
const retiredDirectory = (root: string): string => join(root, 'dead')
export const filesOf = (root: string, id: string): string => join(layersOf(root), id, 'fs')
export const verifiedManifestPath = (root: string, id: string): string => join(layersOf(root), id, 'tree')
export const workOf = (root: string, id: string): string => join(layersOf(root), id, 'work')

export function initLayers(root: string): void {
  for (const path of [filesOf(root, bottomLayer), filesOf(root, secondBottomLayer), retiredDirectory(root)])
    ensureDirectory(path, 0o755)
}

/** The first layer that is not there. */
export const missingLayer = (root: string, stack: Stack): string | undefined =>
  stack.find((id) => fs.lstatSync(filesOf(root, id), { throwIfNoEntry: false }) === undefined)

/** For `mounts.overlay`: the first one is written to. */
export const upperStack = (root: string, [upper = '', ...lower]: Stack) => ({
  lower: lower.map((id) => filesOf(root, id)),
  upper: { fs: filesOf(root, upper), work: workOf(root, upper) },
})

/** The same, for looking only. */
export const lowerStack = (root: string, stack: Stack) => ({
  lower: (stack.length > 1 ? stack : [...stack, secondBottomLayer]).map((id) => filesOf(root, id)),
})

/** A layer that no record names yet. As long as it is held nobody takes it for one that is not needed any more. */
export interface NewLayer extends Disposable {
  readonly id: string
}

interface LayerOptions {
  /** A directory whose owner, mode, times and attributes the top gets. */
  readonly like?: string | undefined
  readonly mode?: number | undefined
  /** Of a top that is like no other, as user and group, if not this process's. */
  readonly owner?: number | undefined
  /** Instead of one that nobody has used. */
  readonly id?: string | undefined
}

/** Only for who holds the lock of the records. */
export function makeLayer(root: string, { like, mode = 0o755, owner, id }: LayerOptions): NewLayer {
  const name = id ?? pooledRandomBytes(6).toString('hex')
  const directory = join(layersOf(root), name)
  hostFs.mkdirSync(directory, 0o700)
  const fd = fs.openSync(directory, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  try {
    native()?.flock(fd, LOCK.SHARED)
    const files = filesOf(root, name)
    hostFs.mkdirSync(files, 0o700)
    hostFs.mkdirSync(workOf(root, name), 0o700)
    if (like !== undefined) copyTopAttributes(files, like)
    else {
      if (owner !== undefined) hostFs.lchownSync(files, owner, owner)
      hostFs.chmodSync(files, mode)
    }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
  return { id: name, [Symbol.dispose]: () => fs.closeSync(fd) }
}

function copyTopAttributes(to: string, like: string): void {
  const stat = fs.lstatSync(like, { bigint: true })
  if (process.getuid?.() === 0) hostFs.lchownSync(to, Number(stat.uid), Number(stat.gid))
  const attributes = attributesText(like, 'layer')
  if (attributes !== '') writeAttributes(to, attributes, 'layer')
  hostFs.chmodSync(to, Number(stat.mode) & 0o7777)
  hostFs.utimesNsSync(to, stat.atimeNs, stat.mtimeNs)
}

/**
 * Whether the upper layer of a tree says nothing that the one below it does not say, but for some names at the top: then
 * the tree was not changed since it got that layer. Also of a tree that others write to: it was so at the moment of the
 * look.
 */
export function isUnchanged(root: string, [upper = '', lower = '']: Stack, except: readonly string[] = []): boolean {
  const [own, below] = [filesOf(root, upper), filesOf(root, lower)]
  const before = changedAt(own)
  const isSame =
    fs.readdirSync(own).every((name) => except.includes(name)) && topAttributes(own) === topAttributes(below)
  return isSame && changedAt(own) === before
}

const changedAt = (path: string): bigint => fs.lstatSync(path, { bigint: true }).ctimeNs

function topAttributes(path: string): string {
  const { mode, uid, gid, mtimeNs } = fs.lstatSync(path, { bigint: true })
  return [mode, uid, gid, mtimeNs, attributesText(path, 'layer')].join(' ')
}

/**
 * A layer that is not written to any more has no use for its work directory; and files that were copied up have a second
 * name in there, which would be counted among their links.
 */
export async function retireWork(root: string, id: string): Promise<void> {
  if (fs.lstatSync(workOf(root, id), { throwIfNoEntry: false }) !== undefined)
    await removeTree(join(layersOf(root), id), 'work')
}

/**
 * Takes the layers out that no tree needs. Only for who holds the lock of the records alone. What was taken out is
 * removed by `removeRetiredLayers`.
 */
export function retireLayers(root: string, records: Records): void {
  const used = new Set([bottomLayer, secondBottomLayer, ...records.all().flatMap(([, stack]) => stack)])
  for (const id of fs.readdirSync(layersOf(root))) if (!used.has(id)) retireLayer(root, id)
}

function retireLayer(root: string, id: string): void {
  const path = join(layersOf(root), id)
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  try {
    native()?.flock(fd, LOCK.EXCLUSIVE | LOCK.NONBLOCKING)
    // The name may come again before this one is removed.
    hostFs.renameSync(path, join(retiredDirectory(root), `${id}-${pooledRandomBytes(6).toString('hex')}`))
  } catch (error) {
    // Somebody is about to make a tree with it.
    if (!hasCode(error, 'EAGAIN', 'EWOULDBLOCK')) throw error
  } finally {
    fs.closeSync(fd)
  }
}

/** Others may be at the same, and so may one that was killed have been. */
export async function removeRetiredLayers(
  root: string,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  for (const id of fs.readdirSync(retiredDirectory(root))) await removeTree(retiredDirectory(root), id, options)
}

/** Of an attempt that was given up: its layer may still be there. */
export function forgetLayer(root: string, id: string): void {
  if (fs.lstatSync(join(layersOf(root), id), { throwIfNoEntry: false }) !== undefined) retireLayer(root, id)
}

/** One that nobody else has seen, while it is held. */
export const dropLayer = async (root: string, id: string): Promise<void> => void (await removeTree(layersOf(root), id))

const inOrder = new Set([0xef53, 0x58465342])

/**
 * Where the journal keeps everything in order (ext4, XFS) new layers are durable when the record is that names them;
 * elsewhere they are made so first.
 */
export function syncLayers(root: string, ids: readonly string[]): void {
  if (inOrder.has(fs.statfsSync(root).type)) return
  for (const id of ids) for (const path of [filesOf(root, id), join(layersOf(root), id)]) syncPath(path)
  syncPath(layersOf(root))
}
