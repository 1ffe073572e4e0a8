import { AwError, type ErrorCode } from '../../domain/errors.ts'
import { quotePath } from '../../domain/paths.ts'
import { errnoOf } from './descriptors.ts'

const sentences = {
  file_not_found: 'There is no such file or directory',
  file_exists: 'Something is there already',
  directory_not_empty: 'The directory is not empty',
  disk_full: 'The disk is full',
  quota_exceeded: 'There is no room for more under the size limit',
  permission_denied: 'The operating system does not allow it',
  path_too_long: 'The path or one of its names is too long',
  cannot_resolve_symlinks: 'The links on the path cannot be resolved',
  symlink_outside_workspace: 'A link on the path leaves the workspace',
  path_outside_workspace: 'A mount point is on the path, and what is mounted there is not in the workspace',
  path_traversal_attempt: 'The path climbs above the workspace',
  path_protected: 'The path belongs to aw and is read-only',
  not_a_file: 'Not a regular file',
  not_a_directory: 'Not a directory',
  file_too_large: 'The file is larger than is accepted',
  invalid_path: 'A directory cannot be put into itself',
  unsupported: 'The file system does not let a directory be renamed that came with a snapshot',
  filesystem_error: 'The file system failed',
} as const satisfies Partial<Record<ErrorCode, string>>

const hints: Partial<Record<ErrorCode, string>> = {
  directory_not_empty: 'Ask for a recursive removal.',
  file_exists: 'Ask for it to be replaced, or choose another path.',
  unsupported: 'Copy it, then remove the old one.',
  file_too_large: 'Read a part of it with an offset and a length.',
}

const codes: Readonly<Record<string, keyof typeof sentences>> = {
  ENOENT: 'file_not_found',
  EEXIST: 'file_exists',
  ENOTEMPTY: 'directory_not_empty',
  ENOSPC: 'disk_full',
  EDQUOT: 'quota_exceeded',
  EACCES: 'permission_denied',
  EPERM: 'permission_denied',
  EROFS: 'permission_denied',
  ENAMETOOLONG: 'path_too_long',
  ELOOP: 'cannot_resolve_symlinks',
  ENOTDIR: 'not_a_directory',
  EISDIR: 'not_a_file',
}

/** `path` is the caller's own, below the root: the host's layout is not told. */
export function refusal(code: keyof typeof sentences, path: string, details: { cause?: unknown } = {}): AwError {
  const errno = errnoOf(details.cause)
  const message = `${sentences[code]}: ${path === '' ? 'the workspace itself' : quotePath(path)}`
  const hint = hints[code]
  return new AwError(code, code === 'filesystem_error' && errno ? `${message} (${errno})` : message, {
    ...details,
    ...(hint === undefined ? {} : { hint }),
    data: errno ? { path, errno } : { path },
  })
}

/** Gives a failure of the operating system its code. `special` overrides the meaning of some for one call. */
export function translate(error: unknown, path: string, special: typeof codes = {}): AwError {
  if (error instanceof AwError) return error
  const errno = errnoOf(error)
  return refusal(special[errno] ?? codes[errno] ?? 'filesystem_error', path, { cause: error })
}

/** Runs a call on the file system; what it throws has a code. */
export function translatingErrors<T>(path: string, call: () => T, special?: typeof codes): T {
  try {
    return call()
  } catch (error) {
    throw translate(error, path, special)
  }
}
