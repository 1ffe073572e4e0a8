import { AwError } from '../../domain/errors.ts'
import { quotePath } from '../../domain/paths.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { FileHandle, PathOptions } from '../../ports/files.ts'
import type { Core, Request } from '../core.ts'

/**
 * The largest file that a caller may write into a workspace, in bytes: `sandbox.file_size_mb`, as for commands. For one
 * that asks from inside a sandbox, what that sandbox was started with.
 */
export function largestFile({ config }: Core, { sandbox }: Workspace, { within }: Request): number {
  const own = within !== undefined && sandbox?.sandbox === within ? sandbox.limits.file_size_mb : undefined
  const mb = own ?? config.settings['sandbox.file_size_mb']
  return mb === 0 ? Infinity : mb * 2 ** 20
}

export function assertFileSize(path: string, bytes: number, most: number): void {
  if (bytes <= most) return
  throw new AwError(
    'file_too_large',
    `${quotePath(path)} would be larger than the ${most / 2 ** 20} MB a file may have`,
    {
      hint: 'Nothing was written. The limit is sandbox.file_size_mb: aw config show',
      data: { path, max_bytes: most },
    },
  )
}

/** Of a file, or of every one that is below a directory. */
export function assertSizesBelow(
  tree: FileHandle,
  path: string,
  most: number,
  options: PathOptions & { readonly named?: string } = {},
): void {
  if (most === Infinity) return
  const { exists, path: from } = tree.resolve(path, { follow: false, ...options })
  if (!exists) return
  const top = tree.stat(from, { follow: false })
  const left = [top]
  for (let next = left.pop(); next; next = left.pop()) {
    if (next.kind === 'file') assertFileSize(options.named ?? next.path, next.size, most)
    if (next.kind === 'directory') left.push(...entriesOf(tree, next.path))
  }
}

function* entriesOf(tree: FileHandle, path: string): Generator<ReturnType<FileHandle['stat']>> {
  for (let after: string | undefined; ;) {
    const { entries, next } = tree.list(path, { after })
    yield* entries
    if (next === null) return
    after = next
  }
}
