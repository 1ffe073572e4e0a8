/**
 * Whether git, on some system, takes a name for that of its own directory, and so refuses to have it in a tree: in any
 * case of letters, with what file systems do not see in a name (HFS+), or as its short form, with blanks and dots behind
 * it, as a stream of it or below a backslash (NTFS). Names are bytes, one character each (latin1).
 */
export function isDotGitName(name: string): boolean {
  const text = Buffer.from(name, 'latin1').toString()
  return text.replaceAll(unseen, '').toLowerCase() === '.git' || text.split('\\').some(isShort)
}

/** What HFS+ leaves out when it compares names. */
const unseen = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

function isShort(part: string): boolean {
  const plain = (part.split(':', 1)[0] ?? '').replace(/[ .]+$/, '').toLowerCase()
  return plain === '.git' || plain === 'git~1'
}
