import { AwError } from '../../domain/errors.ts'
import { summarizeStderr } from '../../domain/git/error-text.ts'

/** Whose failure it is: the url as it may be shown, and what must not be. */
export interface FailureContext {
  readonly url: string
  readonly secrets: readonly string[]
}

/** What a run of git said when it failed; undefined if that is not what happened. */
export const gitErrorText = (error: unknown): string | undefined =>
  error instanceof AwError && error.code === 'aw_command_failed' ? String(error.data['message']) : undefined

/** A failed run of git as the failure of a source, in git's own words; any other error as it is. */
export function sourceFailure(error: unknown, { url, secrets }: FailureContext): unknown {
  const words = gitErrorText(error)
  if (words === undefined) return error
  const said = summarizeStderr(words, secrets)
  // Of a file of the work tree that does not fit git says only that it could not be written.
  if (/No space left on device|Out of diskspace|Disk quota exceeded|unable to write file|write error/i.test(words)) {
    return new AwError('disk_full', `${url} could not be stored: the disk is full, or cannot be written to`, {
      hint: 'Make room, for instance with aw gc, then try again',
      data: { url },
    })
  }
  const { why, hint } = reasons.find(({ pattern }) => pattern.test(words)) ?? unknownReason
  return new AwError('source_failed', `${url}: ${why}${said === '' ? '' : ` (git says: ${said})`}`, {
    hint,
    data: { url, message: said },
  })
}

const reasons: readonly { readonly pattern: RegExp; readonly why: string; readonly hint: string }[] = [
  {
    pattern: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i,
    why: 'ssh does not know this host, or knows it by another key',
    hint: 'Connect once by hand (ssh -T to that host) and compare its key, then try again',
  },
  {
    pattern:
      /could not resolve host|Could not resolve hostname|Connection refused|Network is unreachable|No route to host|timed out|Failed to connect|Couldn't connect|Operation too slow/i,
    why: 'the host cannot be reached',
    hint: 'Check the host name, the network and the proxy settings, then try again',
  },
  {
    pattern: /SSL certificate|certificate verif|unable to get local issuer|self[- ]signed/i,
    why: 'the certificate of the host is not trusted',
    hint: 'Make git trust it: git config --global http.sslCAInfo FILE',
  },
  {
    pattern: /transport '[^']*' not allowed|Protocol "?[a-z]+"? (?:not|disabled)|unsupported protocol/i,
    why: 'the host leads to a transport that is not allowed',
    hint: 'Only https and ssh are used; give the url that it leads to, if it is one of them',
  },
  {
    pattern: /unable to update url base from redirection|redirect/i,
    why: 'the host leads elsewhere',
    hint: 'Give the url that it leads to',
  },
  {
    pattern: /fsck error|fsck-objects|in packed object|in strict mode|index-pack failed/i,
    why: 'git refuses the objects of the repository',
    hint: 'The repository is damaged, or made to do harm: git fsck --strict in a clone of yours says where',
  },
  {
    pattern:
      /not found|does not appear to be a git repository|not a git repository|Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|Permission denied|access denied|error: 40[134]|Invalid username/i,
    why: 'it is not there, or you have no access to it',
    hint: 'Check the url; for a private repository see that git ls-remote works with it, without asking for a password',
  },
  {
    pattern: /invalid path|unable to create file|Not a directory|File name too long/i,
    why: 'a file in it has a name that is not allowed',
    hint: 'Names that some system takes for .git, or for a way out of the tree, are never written',
  },
  {
    pattern: /missing|bad object|unable to read|corrupt|inflate|promisor|did not send/i,
    why: 'objects are missing in it or damaged',
    hint: 'Run git fsck there; in a partial clone fetch what is missing: git fetch --refetch --no-filter',
  },
]

/** Of an id that was asked for. */
export const noCommit = (url: string, commit: string): AwError =>
  new AwError('source_failed', `${url}: there is no commit ${commit}`, {
    hint: 'Give the id of a commit, or the name of a branch or tag',
    data: { url, commit },
  })

const unknownReason = { why: 'git failed', hint: 'See that git ls-remote works with this url, then try again' }

/** How a run of git ended; undefined if that is not what happened. */
export const gitExitCode = (error: unknown): number | undefined =>
  error instanceof AwError && error.code === 'aw_command_failed' && typeof error.data['exit_code'] === 'number'
    ? error.data['exit_code']
    : undefined

/** A failed run of git as the failure of an export, in git's own words; any other error as it is. */
export function exportFailure(error: unknown, about: string): unknown {
  const words = gitErrorText(error)
  if (words === undefined) return error
  const said = summarizeStderr(words)
  if (/No space left on device|Out of diskspace|Disk quota exceeded|write error/i.test(words))
    return new AwError('disk_full', `${about}: the disk is full, or cannot be written to`, { hint: 'Make room' })
  const isRefused = /fsck error|fsck-objects|in packed object|index-pack failed|unpack-objects failed/i.test(words)
  const why = isRefused ? 'git refuses the objects' : 'git failed'
  return new AwError('export_failed', `${about}: ${why}${said === '' ? '' : ` (git says: ${said})`}`, {
    hint: isRefused
      ? 'What is in the workspace is damaged, or made to do harm. Look at it: aw diff'
      : 'Run aw doctor to see what this machine can do',
    data: { message: said },
  })
}
