import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { temporaryName } from '../domain/paths.ts'
import type { CopyOptions, CopyReport, CopySource } from '../ports/host.ts'
import { copyTree } from './copy-tree.ts'
import { hasCode } from './errno.ts'
import { hostFs } from './host-fs.ts'
import { removeTree } from './safe-fs/index.ts'
import { identitiesIn, realpathOf } from './source-folder.ts'

/** Files of aw's own are left out. */
export async function copyIn(
  source: CopySource,
  to: string,
  guarded: readonly string[],
  options: CopyOptions,
): Promise<CopyReport> {
  const { root, path } = typeof source === 'string' ? ofMachine(source) : source
  // Names in trees are bytes, one character each.
  const bytes = Buffer.from(path).toString('latin1')
  const report = await copyTree(root, to, { ...options, path: bytes, guarded: identitiesIn(guarded) })
  const { files, bytes: size, skipped, single = false } = report
  return { files, bytes: size, skipped, single }
}

const ofMachine = (path: string) => ({ root: realpathOf(dirname(path)), path: basename(path) })

/** Made beside its place, and put there when it is whole. */
export async function copyOut(
  source: CopySource,
  to: string,
  guarded: readonly string[],
  options: CopyOptions,
): Promise<CopyReport> {
  const name = basename(typeof source === 'string' ? source : source.path)
  const isDirectory = fs.statSync(to, { throwIfNoEntry: false })?.isDirectory() === true
  const target = isDirectory ? join(to, name) : to
  const temporary = join(dirname(target), temporaryName(randomBytes(8).toString('hex')))
  try {
    const report = await copyIn(source, temporary, guarded, options)
    hostFs.renameNoReplaceSync(report.single ? join(temporary, name) : temporary, target)
    return report
  } catch (error) {
    if (!hasCode(error, 'EEXIST', 'ENOTEMPTY')) throw error
    throw new AwError('file_exists', `There is something at ${target} already`, {
      hint: 'Name another path',
      data: { path: target },
      cause: error,
    })
  } finally {
    await removeTree(dirname(temporary), basename(temporary))
  }
}
