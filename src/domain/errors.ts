import { errnoName } from './errno.ts'

/**
 * Every error a caller can meet, in one closed table: what it means to a shell (exit code), to HTTP (status) and to a
 * retry loop. A code is a compatibility promise; the message is for people and may change.
 */

export const errorTable = {
  // usage
  invalid_input: { exit: 2, status: 400, retryable: false, about: 'The request is not well formed' },
  invalid_config: { exit: 2, status: 400, retryable: false, about: 'The configuration is not valid' },
  invalid_name: { exit: 2, status: 400, retryable: false, about: 'A workspace name or id is not well formed' },
  // not found
  workspace_not_found: { exit: 3, status: 404, retryable: false, about: 'No such workspace' },
  file_not_found: { exit: 3, status: 404, retryable: false, about: 'No such file or directory in the workspace' },
  snapshot_not_found: { exit: 3, status: 404, retryable: false, about: 'No such snapshot' },
  template_not_found: { exit: 3, status: 404, retryable: false, about: 'No such template, or no such version of it' },
  base_not_found: { exit: 3, status: 404, retryable: false, about: 'No such base' },
  run_not_found: { exit: 3, status: 404, retryable: false, about: 'No such run' },
  shared_not_found: { exit: 3, status: 404, retryable: false, about: 'No such shared area' },
  lease_not_found: { exit: 3, status: 404, retryable: false, about: 'No such lease, or it has expired' },
  agent_not_found: { exit: 3, status: 404, retryable: false, about: 'No such agent' },
  agent_not_installed: {
    exit: 3,
    status: 404,
    retryable: false,
    about: 'The program of the agent is not on this machine, or cannot be started',
  },
  token_not_found: { exit: 3, status: 404, retryable: false, about: 'No such token' },
  // exists or conflict
  workspace_exists: { exit: 4, status: 409, retryable: false, about: 'A live workspace already has that name' },
  template_exists: { exit: 4, status: 409, retryable: false, about: 'A template already has that name' },
  shared_exists: { exit: 4, status: 409, retryable: false, about: 'A shared area already has that name' },
  base_in_use: {
    exit: 4,
    status: 409,
    retryable: false,
    about: 'Workspaces began as that base and are compared with it',
  },
  branch_exists: { exit: 4, status: 409, retryable: false, about: 'The repository already has a branch of that name' },
  file_exists: { exit: 4, status: 409, retryable: false, about: 'Something already has that path' },
  invalid_state: {
    exit: 4,
    status: 409,
    retryable: false,
    about: 'The workspace is in a state that does not allow this',
  },
  event_conflict: {
    exit: 4,
    status: 409,
    retryable: false,
    about: 'An event with that id but other content is in the log',
  },
  version_conflict: { exit: 4, status: 409, retryable: true, about: 'Another writer appended to the stream first' },
  limit_reached: { exit: 4, status: 409, retryable: false, about: 'A configured limit is reached' },
  snapshot_limit: {
    exit: 4,
    status: 409,
    retryable: false,
    about: 'The workspace has as many snapshots as it may have',
  },
  nothing_to_undo: { exit: 4, status: 409, retryable: false, about: 'There is nothing to undo' },
  nothing_to_redo: { exit: 4, status: 409, retryable: false, about: 'There is nothing to redo' },
  idempotency_conflict: {
    exit: 4,
    status: 409,
    retryable: false,
    about: 'The idempotency key was used for another request, or it is not known what became of the first one',
  },
  // denied or path
  unauthorized: { exit: 5, status: 401, retryable: false, about: 'There is no token, or it is not valid any more' },
  permission_denied: { exit: 5, status: 403, retryable: false, about: 'The operating system or a policy refused' },
  path_outside_workspace: { exit: 5, status: 403, retryable: false, about: 'The path leaves the workspace' },
  symlink_outside_workspace: {
    exit: 5,
    status: 403,
    retryable: false,
    about: 'A link on the path leaves the workspace',
  },
  cannot_resolve_symlinks: {
    exit: 5,
    status: 403,
    retryable: false,
    about: 'The links on the path cannot be resolved',
  },
  path_traversal_attempt: {
    exit: 5,
    status: 403,
    retryable: false,
    about: 'The path climbs above the workspace with ".."',
  },
  absolute_path_not_allowed: { exit: 5, status: 403, retryable: false, about: 'Absolute paths are not accepted here' },
  path_protected: { exit: 5, status: 403, retryable: false, about: 'The path belongs to aw and is read-only' },
  invalid_path: { exit: 5, status: 400, retryable: false, about: 'The path is not a usable path' },
  invalid_path_null_byte: { exit: 5, status: 400, retryable: false, about: 'The path holds a NUL byte' },
  path_too_long: { exit: 5, status: 400, retryable: false, about: 'The path or one of its names is too long' },
  not_a_file: { exit: 5, status: 400, retryable: false, about: 'The path is not a regular file' },
  not_a_directory: { exit: 5, status: 400, retryable: false, about: 'The path is not a directory' },
  directory_not_empty: { exit: 5, status: 409, retryable: false, about: 'The directory is not empty' },
  file_too_large: { exit: 5, status: 413, retryable: false, about: 'The file is larger than the caller accepts' },
  path_not_visible: { exit: 5, status: 409, retryable: false, about: 'The workspace has no path on the host' },
  home_owner_mismatch: {
    exit: 5,
    status: 403,
    retryable: false,
    about: 'The home belongs to another user, or others may write to it',
  },
  home_version: { exit: 5, status: 409, retryable: false, about: 'The home was written by a newer version' },
  // unenforceable
  sandbox_unenforceable: {
    exit: 6,
    status: 422,
    retryable: false,
    about: 'What was asked for cannot be enforced here',
  },
  unsupported: { exit: 6, status: 422, retryable: false, about: 'This system cannot do what was asked for' },
  // space
  disk_full: { exit: 7, status: 507, retryable: false, about: 'The disk is full, or nearly' },
  quota_exceeded: { exit: 7, status: 507, retryable: false, about: 'The workspace is at its size limit' },
  // active or busy
  rate_limited: { exit: 9, status: 429, retryable: true, about: 'More was asked for than is allowed in that time' },
  workspace_active: { exit: 9, status: 409, retryable: false, about: 'Processes or a lease still use the workspace' },
  workspace_busy: { exit: 9, status: 409, retryable: true, about: 'Another operation on the workspace is in progress' },
  lease_lost: {
    exit: 9,
    status: 409,
    retryable: false,
    about: "The lease under which this was asked for has expired, was given back, or is another holder's now",
  },
  branch_in_use: { exit: 9, status: 409, retryable: false, about: 'That branch is checked out in the repository' },
  sandbox_gone: { exit: 9, status: 409, retryable: false, about: 'The sandbox has ended, and all that ran in it' },
  log_busy: { exit: 9, status: 503, retryable: true, about: 'The log is held by other writers for too long' },
  // time
  timeout: { exit: 124, status: 504, retryable: true, about: 'The time allowed for this ran out' },
  aborted: { exit: 130, status: 499, retryable: true, about: 'The caller cancelled this' },
  // unexpected
  filesystem_error: { exit: 1, status: 500, retryable: false, about: 'The file system failed in an unexpected way' },
  cleanup_failed: { exit: 1, status: 500, retryable: true, about: 'The workspace could not be moved to the trash' },
  source_failed: { exit: 1, status: 502, retryable: false, about: 'The source of the workspace could not be read' },
  export_failed: {
    exit: 1,
    status: 502,
    retryable: false,
    about: 'What the workspace holds could not be handed to git',
  },
  setup_failed: { exit: 1, status: 502, retryable: false, about: 'A set-up command of a template has failed' },
  aw_command_failed: { exit: 1, status: 500, retryable: false, about: 'A command that aw ran has failed' },
  log_damaged: { exit: 1, status: 500, retryable: false, about: 'The log does not verify' },
  storage_unavailable: { exit: 1, status: 503, retryable: true, about: 'The storage root is missing or not mounted' },
  daemon_unavailable: { exit: 1, status: 503, retryable: true, about: 'The daemon does not answer, or is ending' },
  internal: { exit: 1, status: 500, retryable: false, about: 'A defect in aw' },
} as const satisfies Record<string, { exit: number; status: number; retryable: boolean; about: string }>

export type ErrorCode = keyof typeof errorTable

export interface ErrorDetails {
  /** What the user can do next, one sentence. */
  readonly hint?: string
  /** What a program may branch on. Never a secret; a host path only where the caller already knows it. */
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class AwError extends Error {
  override readonly name = 'AwError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.data = details.data ?? {}
  }

  get exitCode(): number {
    return errorTable[this.code].exit
  }

  get status(): number {
    return errorTable[this.code].status
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable
  }

  toJSON(): { code: ErrorCode; message: string; hint: string | null; data: Readonly<Record<string, unknown>> } {
    return { code: this.code, message: this.message, hint: this.hint ?? null, data: this.data }
  }
}

const isErrorCode = (value: string): value is ErrorCode => Object.hasOwn(errorTable, value)

/** Recognises our errors across copies of the package, and gives every other failure a code. */
export function toAwError(error: unknown): AwError {
  if (error instanceof AwError) return error
  if (error instanceof Error && error.name === 'AwError' && 'code' in error && isErrorCode(String(error.code))) {
    return error as AwError
  }
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
    return new AwError(error.name === 'AbortError' ? 'aborted' : 'timeout', error.message, { cause: error })
  }
  // What failed first is what went wrong; that it could not be tidied up afterwards comes of it.
  if (error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error) {
    return toAwError(error.suppressed)
  }
  return (
    fromErrno(error) ??
    new AwError('internal', error instanceof Error ? error.message : String(error), { cause: error })
  )
}

interface Meaning {
  readonly code: ErrorCode
  readonly what?: string
  readonly hint?: string
}

const meanings: Readonly<Record<string, Meaning>> = {
  ENOSPC: {
    code: 'disk_full',
    what: 'The disk is full',
    hint: 'Make room; aw gc --plan tells what aw itself could give up',
  },
  EDQUOT: {
    code: 'quota_exceeded',
    what: 'There is no room left within a quota',
    hint: 'Remove what is not needed there, or raise the quota; of a workspace: aw limit ID MB',
  },
  ELOOP: {
    code: 'filesystem_error',
    what: 'Links lead in a circle',
    hint: 'See where they lead with namei -l PATH, and give the path without them',
  },
  ENAMETOOLONG: {
    code: 'filesystem_error',
    what: 'The path is too long',
    hint: 'Give a shorter one: a name may have 255 bytes, a path 4095',
  },
  EACCES: { code: 'permission_denied' },
  EPERM: { code: 'permission_denied' },
  EROFS: { code: 'permission_denied' },
}

/** An operating-system failure that no lower layer has named. */
function fromErrno(error: unknown): AwError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  const errno = errnoName(error)
  const { code, what, hint }: Meaning = meanings[errno] ?? { code: 'filesystem_error' }
  const path = 'path' in error && typeof error.path === 'string' ? error.path : undefined
  const detail = errno === 'EDQUOT' ? `${errno}: ${String(error.syscall)}` : error.message
  const help = errno === 'EACCES' && path !== undefined ? lockedHint(path) : hint
  return new AwError(code, what === undefined ? detail : `${what} (${detail.slice(0, 300)})`, {
    ...(help !== undefined && { hint: help }),
    data: { errno, syscall: error.syscall },
    cause: error,
  })
}

/** The mode of any directory on the way may be what keeps us out. */
const lockedHint = (path: string): string =>
  `See what on the way keeps you out: namei -l ${JSON.stringify(path)}; if it is yours, open it: chmod u+rwx DIRECTORY`
