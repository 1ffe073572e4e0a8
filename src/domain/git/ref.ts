import { AwError } from '../errors.ts'

/** What a ref may be called: git's own rules, and nothing that git could take for an option or a range. */

export type GitRef =
  | { readonly kind: 'default' }
  | { readonly kind: 'commit'; readonly commit: string }
  /** The whole names that it can mean, the first that exists is the one. */
  | { readonly kind: 'name'; readonly name: string; readonly candidates: readonly string[] }

/** A branch, a tag, either by its whole name, a commit id of full length, or null for the default branch. */
export function parseGitRef(ref: unknown): GitRef {
  if (ref === null) return { kind: 'default' }
  if (typeof ref !== 'string') throw refused('it is no text')
  if (isCommitId(ref)) return { kind: 'commit', commit: ref.toLowerCase() }
  if (ref.startsWith('refs/') && !/^refs\/(?:heads|tags)\/./.test(ref)) throw refused('it is no branch and no tag')
  const candidates = ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`]
  for (const candidate of candidates) checkRefName(candidate)
  if (ref.startsWith('-')) throw refused('it starts with a dash')
  if (ref === 'HEAD' || ref === '@') return { kind: 'default' }
  return { kind: 'name', name: ref, candidates }
}

export const isCommitId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(text)

/** For a name that was recorded, or comes from elsewhere: a whole one. */
export function checkRefName(name: string): void {
  const why = problemOf(name)
  if (why !== undefined) throw refused(why)
}

export const isRefName = (name: string): boolean => problemOf(name) === undefined

/** Git keeps a ref in a file of that name, and another with `.lock` behind it while it writes. */
const maxPartBytes = 250

function problemOf(name: string): string | undefined {
  if (name.length > 1024) return 'it is too long'
  // What git forbids, and what would be a pattern, a range or a pair in the place of one name.
  if (/[\p{Cc} ~^:?*[\\]/u.test(name)) return 'it holds a character that no ref may have'
  if (!name.isWellFormed()) return 'it is not valid Unicode'
  if (name.includes('..') || name.includes('@{')) return 'it holds ".." or "@{"'
  if (name.endsWith('.')) return 'it ends in a dot'
  const parts = name.split('/')
  if (parts.some((part) => Buffer.byteLength(part) > maxPartBytes)) return 'a part of it is too long for a file'
  if (parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock'))) {
    return 'a part of it is empty, starts with a dot or ends in ".lock"'
  }
  return undefined
}

const refused = (why: string): AwError =>
  new AwError('invalid_input', `That is not a branch, tag or commit: ${why}`, {
    hint: 'Give the name of a branch or a tag, or a whole commit id',
  })
