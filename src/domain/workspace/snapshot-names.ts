import { AwError } from '../errors.ts'

const longest = 120

/**
 * The first line that says something, in one piece, without what would move a terminal's cursor. A word that means
 * another snapshot is put in quotes: by it alone this one could never be found.
 */
export function labelFrom(message: string): string | null {
  const first = message.split(/[\r\n\u2028\u2029]+/).find((line) => visible.test(line))
  if (first === undefined) return null
  const label = cut(first.replaceAll(unshown, ' ').replaceAll(around, ''))
  return hasOtherMeaning(label) ? cut(`"${label}"`) : label
}

/** `head`, `base` and whatever looks like an id. */
export const hasOtherMeaning = (label: string): boolean => /^(head|base|snap_\S*)$/.test(label)

const visible = /[^\p{C}\p{Z}]/u
/** What joins the parts of an emoji, or keeps letters of a word apart, is shown in a way. */
const unshown = /[[\p{C}\p{Z}]--[\u200c\u200d]]+/gv

/** At both ends. Each run is looked at once, from its beginning: a message may be nothing but such characters. */
const around = /^[\p{C}\p{Z}]+|(?<![\p{C}\p{Z}])[\p{C}\p{Z}]+$/gu

/** By characters, so that none is torn in two, unless one alone is too long. */
function cut(text: string): string {
  let out = ''
  let room = longest
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= Array.from(segment).length
    if (room < 0) break
    out += segment
  }
  return out === ''
    ? Array.from(text.slice(0, 2 * longest))
        .slice(0, longest)
        .join('')
    : out.trimEnd()
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
