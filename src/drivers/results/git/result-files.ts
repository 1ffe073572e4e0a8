import * as fs from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { BundleOptions, NewFile, WrittenPatch } from '../../../ports/git-results.ts'
import { contentSteps } from '../../../sys/safe-fs/write/copy-content.ts'
import { makeFile } from '../../../sys/fs/new-file.ts'
import { chownTree } from '../../../sys/copy/chown-tree.ts'
import { replaceFile } from '../../../sys/git/layout.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import type { StagingRepository } from './staging-repository.ts'

/** Results as files. Git writes them beside our repository; from there they come to where they are wanted, whole. */

const emptyTree = (sha256: boolean): string =>
  sha256
    ? '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321'
    : '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Into an empty directory that nobody else reaches. Nothing of theirs runs: no filter is configured. */
export async function writeFiles(staging: StagingRepository, tree: string, directory: string): Promise<void> {
  const env = { GIT_WORK_TREE: directory, GIT_INDEX_FILE: join(staging.repository, 'index-of-files') }
  await staging.ask(['read-tree', '-m', '-u', '--end-of-options', tree], { env })
  await chownTree(directory)
}

/** What is given back in one piece. */
const maxInMemory = 256 * 1024 * 1024

export async function writePatch(
  staging: StagingRepository,
  from: string | null,
  to: string,
  file: NewFile | null,
): Promise<WrittenPatch> {
  const made = join(staging.repository, 'patch')
  const sides = [from ?? emptyTree(staging.sha256), to]
  const found = await staging.ask(['diff-tree', '-r', '-M', '-l400', '--raw', '-z', ...sides])
  const entries = found.split('\0').filter((field) => field.startsWith(':'))
  // Of a link that is moved git tells no mode, and then does not know that it goes away for what comes in its place.
  const renames = entries.some((entry) => /^:120000 .* R\d*$/.test(entry)) ? ['--no-renames'] : ['-M', '-l400']
  // As plain as can be: neither settings nor attributes say how it looks.
  const plain = ['--no-color', '--no-ext-diff', '--no-textconv', '--src-prefix=a/', '--dst-prefix=b/', '--unified=3']
  const whole = ['-r', '-p', '--binary', '--full-index', ...renames, ...plain]
  await staging.ask(['diff-tree', ...whole, `--output=${made}`, ...sides])
  if (found.split('\0').some((field) => !field.startsWith(':') && field.includes(' '))) quoteHeads(made)
  const files = entries.length
  const bytes = fs.statSync(made).size
  if (file !== null) {
    await deliver(staging, made, file, 'changes.patch')
    return { files, bytes, content: null }
  }
  if (bytes <= maxInMemory) return { files, bytes, content: fs.readFileSync(made) }
  throw tooLarge(bytes)
}

const tooLarge = (bytes: number): AwError =>
  new AwError('file_too_large', `The patch has ${bytes} bytes: too much for one answer`, {
    hint: 'Name a file for it; or export a branch or a bundle',
    data: { bytes, max_bytes: maxInMemory },
  })

/**
 * A name with blanks stands there without quotes, and where nothing but the first line tells it git may not be able to
 * read its own patch. In quotes it is.
 */
function quoteHeads(patch: string): void {
  if (fs.statSync(patch).size > maxInMemory) throw tooLarge(fs.statSync(patch).size)
  const text = fs.readFileSync(patch, 'latin1')
  const plain = /^diff --git a\/([^"\n]*) b\/\1$/gm
  const quoted = text.replaceAll(plain, (line, name: string) =>
    name.includes(' ') ? `diff --git "a/${name}" "b/${name}"` : line,
  )
  replaceFile(patch, Buffer.from(quoted, 'latin1'))
}

export async function writeBundle(
  staging: StagingRepository,
  commit: string,
  { branch, since, file }: BundleOptions,
): Promise<number> {
  const made = join(staging.repository, 'bundle')
  const ref = `refs/heads/${branch}`
  await staging.ask(['update-ref', ref, commit])
  await staging.ask(['symbolic-ref', 'HEAD', ref])
  await staging.ask(['bundle', 'create', '--quiet', made, 'HEAD', ref, ...since.map((id) => `^${id}`)])
  await deliver(staging, made, file, 'workspace.bundle')
  return fs.statSync(made).size
}

async function deliver(
  { signal }: StagingRepository,
  made: string,
  { path, replace }: NewFile,
  such: string,
): Promise<void> {
  const from = fs.openSync(made, 'r')
  try {
    await makeFile(path, { replace, such }, (to) => runCancellable(contentSteps(from, to), signal))
  } finally {
    fs.closeSync(from)
  }
}
