import type { Outputs } from '../../../api/table.ts'
import { wrap } from '../../output/layout.ts'
import { visible } from '../../../domain/text/visible.ts'
import { columns, type Row } from '../columns.ts'
import { bytes, count, shortBase } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Report = Outputs['usage']

/** One line: what it is, how large, and what is to be said about it. */
interface Line {
  readonly name: string
  readonly bytes: number | null
  readonly complete: boolean
  readonly note: string
  readonly alarm?: boolean
}

interface Section {
  readonly title: string
  readonly kind: string
  readonly lines: readonly Line[]
}

export function usage(report: Report, view: View): Rendered {
  const sections = sectionsOf(report, view)
  const isPartial = sections.some(({ lines }) => lines.some(({ complete }) => !complete))
  const told = isPartial && !view.quiet && { notice: 'Not everything was counted; do so with: aw usage --full' }
  if (!view.terminal) return { out: table(sections, report, view), ...told, ...warned(report) }
  const shown = sections.filter(({ lines }) => lines.length > 0)
  const out = [
    ...shown.flatMap((section) => [...drawn(section, largestIn(shown), view), '']),
    ...gauges(report, view),
    ...report.warnings.flatMap((text) => wrap(`! ${visible(text)}`, view.columns)).map(view.paint.yellow),
  ]
  return { out: out.join('\n'), ...told }
}

const largestIn = (sections: readonly Section[]): number =>
  Math.max(1, ...sections.flatMap(({ lines }) => lines.map((line) => line.bytes ?? 0)))

function sectionsOf({ workspaces, bases, repositories, shared }: Report, { terminal }: View): Section[] {
  const live = workspaces.filter(({ state }) => state !== 'trashed' && state !== 'purged')
  return [
    {
      title: 'Workspaces',
      kind: 'workspace',
      lines: largestFirst(live.map((one) => ({ ...one, note: growthNote(one), alarm: one.over }))),
    },
    {
      title: 'Snapshots',
      kind: 'snapshots',
      lines: largestFirst(
        workspaces
          .filter(({ snapshots }) => snapshots.count > 0)
          .map(({ name, snapshots }) => ({ name, ...snapshots, note: count(snapshots.count, 'snapshot') })),
      ),
    },
    {
      title: 'Shared areas',
      kind: 'shared',
      lines: shared
        .filter(({ state }) => state === 'ready')
        .map((one) => ({ ...one, note: one.task === null ? 'for all tasks' : `for ${one.task}` })),
    },
    {
      title: 'Bases',
      kind: 'base',
      lines: bases.map((base) => baseLine(base, bases, terminal)),
    },
    {
      title: 'Repositories',
      kind: 'repository',
      lines: repositories.map((one) => ({ ...one, name: one.url, complete: true, note: 'fetched' })),
    },
    {
      title: 'Trash',
      kind: 'trash',
      lines: largestFirst([
        ...workspaces
          .filter(({ trash }) => trash.count > 0)
          .map(({ name, trash }) => ({ name, ...trash, note: count(trash.count, 'tree') })),
        ...shared.filter(({ state }) => state === 'trashed').map((one) => ({ ...one, note: 'shared area' })),
      ]),
    },
  ]
}

/** By the name that `aw bases remove` takes, of which the beginning will do; and what it was made from. */
function baseLine(base: Report['bases'][number], all: Report['bases'], terminal: boolean): Line {
  const note = `for ${count(base.workspaces, 'workspace')}`
  if (!terminal) return { ...base, note: `${note}, from ${base.from}` }
  return { ...base, name: `${shortBase(base.name, all)} ${base.from}`, note }
}

const largestFirst = (lines: readonly Line[]): Line[] => lines.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))

function growthNote({ growth_bytes: growth, size_limit: { mb, grade } }: Report['workspaces'][number]): string {
  if (mb === 0) return 'no limit'
  if (growth === null) return `may add ${mb} MB`
  return `${percentOf(growth, mb * 2 ** 20)}% of ${mb} MB${grade === 'watched' ? '' : `, ${grade}`}`
}

const percentOf = (part: number, whole: number): number => Math.floor((100 * part) / Math.max(1, whole))

/** In a pipe: what it is, its name, its bytes (empty if nobody knows), whether that is all, and the rest. */
const table = (sections: readonly Section[], report: Report, view: View): string =>
  columns(
    [],
    [...sections, ...roomOf(report)].flatMap(({ kind, lines }) =>
      lines.map(({ name, bytes: size, complete, note }): Row => [
        kind,
        name,
        String(size ?? ''),
        complete ? 'all' : 'at least',
        note,
      ]),
    ),
    view,
  )

/** The same for the disk, with what is taken of it, and for each limit, with what is reserved of it. */
function roomOf({ storage, limits }: Report): Pick<Section, 'kind' | 'lines'>[] {
  const { driver, free_bytes: free, total_bytes: total, used_percent: used } = storage
  const disk = {
    name: driver,
    bytes: total - free,
    complete: true,
    note: `${used}% full, ${free} of ${total} are free`,
  }
  return [
    { kind: 'storage', lines: [disk] },
    {
      kind: 'limit',
      lines: limits.map((limit) => ({
        name: limit.of ?? limit.what,
        bytes: limit.reserved_mb * 2 ** 20,
        complete: true,
        note: reservedNote(limit),
      })),
    },
  ]
}

const reservedNote = ({ reserved_mb, limit_mb, workspaces }: Report['limits'][number]): string =>
  `${reserved_mb} of ${limit_mb} MB reserved by ${count(workspaces, 'workspace')}`

/** A line for each, as each may be what somebody looks for in a log. */
const warned = ({ warnings }: Report): Pick<Rendered, 'warning'> =>
  warnings.length === 0 ? {} : { warning: warnings.map(visible).join('\naw: ') }

/** A screen is enough: the others are smaller. */
const maxLines = 20

function drawn({ title, lines }: Section, largest: number, view: View): string[] {
  const known = lines.flatMap((line) => (line.bytes === null ? [] : [line.bytes]))
  const total = known.reduce((sum, size) => sum + size, 0)
  const complete = lines.every((line) => line.complete)
  const wide = widths(view)
  const more = lines.length - maxLines
  return [
    `${view.paint.bold(title)} ${view.paint.dim(sizeText(known.length === 0 ? null : total, complete))}`,
    ...lines.slice(0, maxLines).map((line) => {
      const bar = filled((line.bytes ?? 0) / largest, wide.bar)
      const note = cut(visible(line.note), wide.note)
      return [
        ` ${cut(visible(line.name), wide.name).padEnd(wide.name)}`,
        ...(wide.bar === 0 ? [] : [line.alarm === true ? view.paint.red(bar) : view.paint.cyan(bar)]),
        sizeText(line.bytes, line.complete).padStart(wide.size),
        ...(wide.note === 0 ? [] : [line.alarm === true ? view.paint.red(note) : view.paint.dim(note)]),
      ].join('  ')
    }),
    ...(more > 0 ? [view.paint.dim(`  and ${more} smaller; all of them: aw usage --json`)] : []),
  ]
}

/** On a narrow terminal the bars go first, then the notes: what it is, and how large, stays. */
function widths({ columns: room }: View): { name: number; bar: number; size: number; note: number } {
  const [size, note] = [11, 22]
  const left = Math.min(room, 140) - size - note - 7
  if (left < 16) return { name: Math.max(8, room - size - 3), bar: 0, size, note: 0 }
  if (left < 30) return { name: left + 2, bar: 0, size, note }
  const name = Math.min(40, Math.floor(left * 0.65))
  return { name, bar: left - name, size, note }
}

/** How full the disk is, and how much of each limit is reserved. */
function gauges({ storage, limits }: Report, view: View): string[] {
  const { driver, free_bytes: free, total_bytes: total, used_percent: used } = storage
  const rows = [
    {
      name: `Storage (${driver})`,
      part: used / 100,
      text: `${used}% full, ${bytes(free)} of ${bytes(total)} are free`,
    },
    ...limits.map((limit) => ({
      name: limit.what === 'store' ? 'Budget' : (limit.of ?? limit.what),
      part: limit.reserved_mb / limit.limit_mb,
      text: reservedNote(limit),
    })),
  ]
  const bar = view.columns < 60 ? 0 : 14
  const name = Math.min(bar === 0 ? 14 : 30, Math.max(...rows.map((row) => visible(row.name).length)))
  return rows.map((row) => {
    const paint = row.part >= 0.95 ? view.paint.red : row.part >= 0.85 ? view.paint.yellow : view.paint.green
    const gauge = filled(row.part, bar).replaceAll(' ', '░')
    const head = view.paint.bold(cut(visible(row.name), name).padEnd(name))
    if (bar === 0) return `${head}  ${paint(upTo(row.text, view.columns - name - 2))}`
    return `${head}  ${paint(gauge)}  ${upTo(row.text, view.columns - name - bar - 4)}`
  })
}

/** So much of a bar; whatever is more than nothing is seen. */
function filled(part: number, width: number): string {
  const length = Math.round(Math.min(1, part) * width)
  return part > 0 && length === 0 ? '▏'.padEnd(width) : '█'.repeat(length).padEnd(width)
}

const sizeText = (size: number | null, complete: boolean): string =>
  size === null ? '-' : complete ? bytes(size) : `> ${bytes(size)}`

/** What matters of a sentence is at its beginning. */
const upTo = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** What matters of a name is at both ends. */
function cut(text: string, width: number): string {
  if (text.length <= width) return text
  const tail = Math.floor(width / 3)
  return `${text.slice(0, width - tail - 1)}…${text.slice(text.length - tail)}`
}
