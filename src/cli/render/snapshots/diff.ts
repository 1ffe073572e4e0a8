import type { Outputs } from '../../../api/table.ts'
import { isInsideDotGit } from '../../../domain/git/patch.ts'
import type { Paint } from '../../output/color.ts'
import { visible } from '../../../domain/text/visible.ts'
import { bytes } from '../units.ts'
import type { Rendered, StreamRenderer, View } from '../view.ts'

type Change = Outputs['diff']

/**
 * One line a path, as `git status --short` has it; after the last, a person is told how many there were. What git keeps
 * for itself is only counted for a person who did not ask for it: a commit touches a dozen such paths.
 */
export function differences(): StreamRenderer {
  const counts = new Map<string, number>()
  const lines = { added: 0, removed: 0 }
  let gits = 0
  return {
    item(change: Change, view: View): Rendered {
      if (view.terminal && view.input['paths'] === undefined && isInsideDotGit(change.path)) {
        gits += 1
        return { out: '' }
      }
      counts.set(change.change, (counts.get(change.change) ?? 0) + 1)
      lines.added += change.lines?.added ?? 0
      lines.removed += change.lines?.removed ?? 0
      const text = isStat(view) ? '' : textOf(change, view)
      const first = view.terminal ? line(change, view) : plain(change, view)
      return { out: text === '' ? first : `${first}\n${text}` }
    },
    end: (view) => ({
      out: '',
      note: [
        summary(counts, view, gits),
        ...(view.input['stat'] === true ? [sumOf(lines)] : []),
        ...(gits > 0 ? [`${gits} below .git not shown`] : []),
      ].join('; '),
    }),
  }
}

export const letters = { added: 'A', changed: 'M', removed: 'D', renamed: 'R' } as const

export const painterOf = (change: keyof typeof letters, { paint }: View): ((text: string) => string) =>
  ({ added: paint.green, changed: paint.yellow, removed: paint.red, renamed: paint.cyan })[change]

const sumOf = ({ added, removed }: NonNullable<Change['lines']>): string => `+${added} -${removed}`

/** Lines are counted and nothing else is asked for: each path has one line, whatever it is. */
const isStat = ({ input }: View): boolean => input['stat'] === true && input['text'] !== true

/** Why there are no lines to count. */
const uncounted = ({ binary, omitted }: Change, view: View): string =>
  isStat(view) ? (binary === true ? 'binary' : (omitted ?? '')) : ''

/** Letter, path, what differs, and where a renamed one was; last the lines, if they were counted, or why they were not. */
function plain(change: Change, view: View): string {
  const { path, what, from, lines } = change
  const more = from === null ? (what.length === 0 ? [] : [what.join(',')]) : [what.join(','), visible(from)]
  const why = uncounted(change, view)
  const counted = lines === undefined ? (why === '' ? [] : [visible(why)]) : [sumOf(lines)]
  return [letters[change.change], visible(path), ...more, ...counted].join('\t')
}

function line(change: Change, view: View): string {
  const { paint, columns } = view
  const slash = (change.after ?? change.before)?.kind === 'directory' ? '/' : ''
  const from = change.from === null ? '' : `${visible(change.from)} → `
  const first = `${letters[change.change]}  ${from}${visible(change.path)}${slash}`
  const sizes = [aboutOf(change), visible(uncounted(change, view))].filter((one) => one !== '').join(', ')
  const about = change.lines === undefined ? sizes : sumOf(change.lines)
  const painted = painterOf(change.change, view)(first.slice(0, 1)) + first.slice(1)
  return about === '' || first.length + about.length + 2 > columns ? painted : `${painted}  ${paint.dim(about)}`
}

/** What the letter does not say: another kind, another mode, sizes. */
function aboutOf({ what, before, after }: Change): string {
  if (before === null || after === null) {
    const one = before ?? after
    return one === null || one.kind === 'directory' ? '' : one.kind === 'file' ? bytes(one.size) : one.kind
  }
  return what
    .map((kind) => {
      if (kind === 'kind') return `${before.kind} → ${after.kind}`
      if (kind === 'mode') return `mode ${octal(before.mode)} → ${octal(after.mode)}`
      if (kind !== 'content') return kind
      return before.size === after.size ? bytes(after.size) : `${bytes(before.size)} → ${bytes(after.size)}`
    })
    .join(', ')
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0')

/** A pipe gets the text as it is, so that `git apply` can read it; a terminal gets it coloured and harmless. */
function textOf({ text, binary, omitted, path, from, before, after }: Change, { terminal, paint }: View): string {
  if (binary === true) {
    const line = `Binary files ${before ? `a/${from ?? path}` : '/dev/null'} and ${after ? `b/${path}` : '/dev/null'} differ`
    return terminal ? paint.dim(visible(line)) : visible(line)
  }
  if (omitted !== undefined) return terminal ? paint.dim(`   ${visible(omitted)}`) : visible(omitted)
  if (text === undefined || text === '') return ''
  return terminal ? terminalSafe(text, paint) : text.replace(/\n$/, '')
}

/** A patch for a terminal: in colours, and with nothing in it that could do something to the terminal. */
export function terminalSafe(text: string, paint: Paint): string {
  let isHead = true
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((row) => {
      // Of a file that became a link there are two patches.
      isHead = row.startsWith('diff --git ') || (isHead && !row.startsWith('@@'))
      return colored(row.split('\t').map(visible).join('\t'), isHead, paint)
    })
    .join('\n')
}

function colored(row: string, isHead: boolean, paint: Paint): string {
  if (isHead) return paint.bold(row)
  if (row.startsWith('+')) return paint.green(row)
  if (row.startsWith('-')) return paint.red(row)
  return row.startsWith('@@') ? paint.cyan(row) : row
}

function summary(counts: ReadonlyMap<string, number>, { input }: View, unshown: number): string {
  const total = [...counts.values()].reduce((sum, one) => sum + one, unshown)
  if (total === unshown) return unshown === 0 ? 'No difference' : 'No other difference'
  const parts = Object.keys(letters).flatMap((change) => {
    const found = counts.get(change)
    return found === undefined ? [] : [`${found} ${change}`]
  })
  return `${parts.join(', ')}${total === input['limit'] ? '; there may be more: raise --limit' : ''}`
}
