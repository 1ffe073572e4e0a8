import { AwError } from './errors.ts'

const longest = 120

/** The first line that says something, in one piece, without what would move a terminal's cursor. */
export function labelFrom(message: string): string | null {
  const lines = message.split(/[\r\n\u2028\u2029]+/).map((line) => line.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim())
  const first = lines.find((line) => line !== '')
  return first === undefined ? null : cut(first)
}

/** By characters, so that none is torn in two. */
function cut(text: string): string {
  const letters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
  let out = ''
  for (const letter of letters) {
    if ([...out, ...letter].length > longest) break
    out += letter
  }
  return out.trimEnd()
}

const branchName = /^[\p{L}\p{N}][\p{L}\p{N}._/-]{0,119}$/u

/** Branches are named as in git, as far as people do: no spaces, no `..`, nothing that ends in a slash or a dot. */
export function parseBranch(text: string): string {
  if (branchName.test(text) && !/\.\.|\/\/|[/.]$|\.lock$|\/[.-]/.test(text)) return text
  throw new AwError('invalid_name', `${JSON.stringify(text.slice(0, 200))} is not a name for a branch`, {
    hint: 'Use 1 to 120 letters, digits, ".", "_", "-" and "/", starting with a letter or digit',
    data: { field: 'branch' },
  })
}
