import * as fs from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { contentSteps, shareBlocks } from '../../../sys/safe-fs/write/copy-content.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import type { Folder } from '../../../sys/git/folder.ts'

/** Objects of a repository as the files that they are: packs, each with its index, and single ones. */

export interface ObjectCopy {
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: ((done: number, all: number) => void) | undefined
}

/** The names of the packs, without their endings; only those that have both files. */
export function packsIn(objects: Folder): string[] {
  const names = new Set(objects.names('pack').map(({ name }) => name))
  return [...names]
    .filter((name) => /^pack-[0-9a-f]{40,64}\.pack$/.test(name))
    .map((name) => name.slice(0, -'.pack'.length))
    .filter((name) => names.has(`${name}.idx`))
}

/**
 * Copies all objects, sharing blocks where the file system can. Nothing else of the directory is read: no alternates, no
 * index over several packs. What a clean-up in the source moves from single files into a pack meanwhile is found there.
 */
export async function copyObjects(objects: Folder, to: string, options: ObjectCopy): Promise<void> {
  await copyLoose(objects, to, options)
  await copyPacks(objects, to, options)
}

export async function copyLoose(objects: Folder, to: string, options: ObjectCopy): Promise<void> {
  for (const { name: directory } of objects.names().filter(({ name }) => /^[0-9a-f]{2}$/.test(name))) {
    const names = objects.names(directory).filter(({ name }) => /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/.test(name))
    if (names.length > 0) hostFs.mkdirSync(join(to, directory), 0o755)
    for (const { name } of names) await copyOne(objects, `${directory}/${name}`, to, options)
  }
}

export async function copyPacks(objects: Folder, to: string, options: ObjectCopy): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const files = packsIn(objects).flatMap((name) => [`pack/${name}.pack`, `pack/${name}.idx`])
    const all = files.reduce((sum, file) => sum + sizeOf(objects, file), 0)
    let done = 0
    const gone: string[] = []
    for (const file of files) {
      const copied = await copyOne(objects, file, to, options)
      if (copied === undefined) gone.push(file)
      options.onBytes?.((done += copied ?? 0), all)
    }
    if (gone.length === 0) return
    if (attempt === 3) throw new AwError('source_failed', 'The repository is packed anew all the time', { hint: later })
  }
}

const later = 'Wait until git gc has ended there, then try again'

function sizeOf(objects: Folder, path: string): number {
  const fd = objects.open(path)
  if (fd === undefined) return 0
  try {
    return fs.fstatSync(fd).size
  } finally {
    fs.closeSync(fd)
  }
}

/** How many bytes; undefined if the file is gone. One that was copied before is not copied again. */
async function copyOne(objects: Folder, path: string, to: string, options: ObjectCopy): Promise<number | undefined> {
  const from = objects.open(path)
  if (from === undefined) return undefined
  try {
    const target = createUnlessThere(join(to, path))
    if (target === undefined) return 0
    try {
      if (!shareBlocks(from, target)) await runCancellable(contentSteps(from, target), options.signal)
    } finally {
      fs.closeSync(target)
    }
    return fs.fstatSync(from).size
  } finally {
    fs.closeSync(from)
  }
}

function createUnlessThere(path: string): number | undefined {
  try {
    return hostFs.createSync(path, 0o444)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined
    throw error
  }
}
