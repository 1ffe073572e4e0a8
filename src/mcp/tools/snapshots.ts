import { list, object, string, type JsonSchema } from '../../api/schema.ts'
import { operations, type Inputs, type Outputs } from '../../api/table.ts'
import { changeView, createdSnapshot, snapshotView } from '../../api/views.ts'
import type { Manager } from '../../ports/manager.ts'
import { limits } from '../limits.ts'
import { pickFields, pickValues } from '../schema.ts'
import { countIn, entry, nextCursor, paging, type Answer, type Paged, type ToolContext } from '../tool.ts'
import { cutField } from './commands.ts'

type Snapshot = Outputs['snapshots'][number]
type Change = Outputs['diff']

const shown = [
  'id',
  'parent',
  'branch',
  'label',
  'reason',
  'author',
  'created_at',
  'consistency',
  'files_changed',
  'head',
] as const
const summaryOf = (view: Snapshot): Pick<Snapshot, (typeof shown)[number]> => pickValues(view, shown)
const line = ({ id, label, created_at: at, reason, head }: Snapshot): string =>
  `${id}  ${at}  ${label ?? `(${reason})`}${head ? '  [head]' : ''}`

const restoredFields = [
  'workspace',
  'snapshot',
  'branch',
  'kept',
  'paths',
  'added',
  'changed',
  'removed',
  'differences',
] as const
const restored = operations.find(({ name }) => name === 'restore')?.output as JsonSchema
const maxDifferences = 100

const changeFields = ['path', 'change', 'from', 'what', 'binary', 'lines', 'omitted'] as const
const diffOutput = object({
  changes: list(pickFields(changeView, [...changeFields, 'text']) as typeof changeView),
  next_cursor: nextCursor,
  cut: cutField,
})
const aboutDiff =
  'With text also a patch for each file, with stat how many lines came and went. In pages; a page with patches is short.'

interface OwnSides extends Paged {
  readonly id: string
  readonly from?: string
  readonly to?: string
}

export const snapshotTools = [
  entry<'snapshot'>({
    name: 'snapshot',
    title: 'Take a snapshot',
    of: 'snapshot',
    description:
      'Keep the whole tree of a workspace as it is now: every file, also ignored ones. Cheap: take one before anything ' +
      'risky and when tests pass. restore goes back to it.',
    fields: ['id', 'label', 'key'],
    output: pickFields(createdSnapshot, [...shown, 'created']),
    async run(manager, input, { call }) {
      const made = await manager.call('snapshot', input, call)
      return { structured: { ...summaryOf(made), created: made.created }, text: line(made) }
    },
  }),
  entry<'snapshots', Paged>({
    name: 'list_snapshots',
    title: 'List snapshots',
    of: 'snapshots',
    description: 'List the snapshots of a workspace, newest first, in pages.',
    fields: ['id'],
    add: paging,
    output: object({
      snapshots: list(pickFields(snapshotView, shown) as typeof snapshotView),
      next_cursor: nextCursor,
    }),
    async run(manager, { id, cursor, limit = limits.items }, { call }) {
      const from = countIn(cursor)
      const newest = (await manager.call('snapshots', { id, limit: from + limit + 1 }, call)).toReversed()
      const page = newest.slice(from, from + limit)
      const next = newest.length > from + limit ? String(from + limit) : null
      const more = next === null ? [] : [`There are more; next_cursor is ${next}`]
      return {
        structured: { snapshots: page.map(summaryOf), next_cursor: next },
        text: page.length === 0 ? 'There are none' : [...page.map(line), ...more].join('\n'),
      }
    },
  }),
  entry<'restore'>({
    name: 'restore',
    title: 'Go back to a snapshot',
    of: 'restore',
    description:
      'Make a workspace, or with paths only some of its files, equal to a snapshot. What was there before becomes a ' +
      'snapshot itself (kept), so nothing is lost and a restore can be taken back.',
    fields: ['id', 'snapshot', 'branch', 'paths', 'restart'],
    output: pickFields(restored, restoredFields, { add: { cut: cutField } }),
    hints: { idempotentHint: true },
    async run(manager, input, { call }) {
      const done = await manager.call('restore', input, call)
      const differences = done.differences.slice(0, maxDifferences)
      const cut = `Only the first ${maxDifferences} differences are told; diff shows all`
      return {
        structured: {
          ...pickValues(done, restoredFields),
          differences,
          ...(differences.length < done.differences.length && { cut }),
        },
        text:
          `${done.workspace} is as in ${done.snapshot}: ${done.added} paths came back, ${done.changed} are different, ` +
          `${done.removed} are gone${done.kept === null ? '' : `; what was there is ${done.kept}`}`,
      }
    },
  }),
  entry<'diff', Paged>({
    name: 'diff',
    title: 'Compare trees',
    of: 'diff',
    description: `Show what differs between two trees: with one workspace, what was done in it since it was made; with two sides, what leads from the one to the other. ${aboutDiff}`,
    fields: ['from', 'to', 'text', 'stat', 'paths'],
    add: paging,
    output: diffOutput,
    where: 'home',
    run: compared,
  }),
  entry<'diff', OwnSides>({
    name: 'diff',
    title: 'Compare trees',
    of: 'diff',
    description: `Show what was done in the workspace since it was made, or since a snapshot of it. ${aboutDiff}`,
    fields: ['text', 'stat', 'paths'],
    add: {
      ...paging,
      from: string('A snapshot: its id, its label, head or base (default: what the workspace began as)'),
      to: string('Another snapshot (default: the workspace as it is now)'),
    },
    output: diffOutput,
    where: 'one',
    run: (manager, { id, from, to, ...input }, context) => {
      // One side alone is compared with what it is now, and a workspace alone with what it began as.
      const one = from ?? (to === undefined ? undefined : 'base')
      const sides = { from: one === undefined ? id : `${id}@${one}`, to: to === undefined ? undefined : `${id}@${to}` }
      return compared(manager, { ...input, ...sides }, context)
    },
  }),
] as const

/** A page ends with its last item, or when it holds as much text as an answer may. */
async function compared(
  manager: Manager,
  { cursor, limit = limits.items, ...input }: Inputs['diff'] & Paged,
  { call }: ToolContext,
): Promise<Answer> {
  const skip = countIn(cursor)
  const changes: Partial<Change>[] = []
  let seen = 0
  let left: number = limits.patchBytes
  let cut: string | undefined
  let more = false
  for await (const change of manager.stream('diff', { ...input, limit: skip + limit + 1 }, call)) {
    if (seen++ < skip) continue
    const size = Buffer.byteLength(change.text ?? '')
    more = changes.length === limit || (changes.length > 0 && size > left)
    if (more) break
    if (size > left) cut = `The patch of ${change.path} has ${size} bytes and is cut; read the file in parts`
    const text = change.text === undefined ? {} : { text: change.text.slice(0, left) }
    changes.push({ ...pickValues(change, changeFields), ...text })
    left -= size
  }
  const next = more ? String(skip + changes.length) : null
  const notes = [
    ...(cut === undefined ? [] : [`[${cut}]`]),
    ...(next === null ? [] : [`There are more; next_cursor is ${next}`]),
  ]
  return {
    structured: { changes, next_cursor: next, ...(cut !== undefined && { cut }) },
    text: changes.length === 0 ? 'There is no difference' : [...changes.map(changeText), ...notes].join('\n'),
  }
}

const changeText = ({ path, change, from, lines, text }: Partial<Change>): string =>
  text !== undefined && text !== ''
    ? text
    : `${change} ${from == null ? '' : `${from} -> `}${path}${lines === undefined ? '' : `  +${lines.added} -${lines.removed}`}`
