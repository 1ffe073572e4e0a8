import { choice, integer, list, nullable, object, optional, string, type JsonSchema } from '../../api/schema.ts'
import { operations, type Outputs } from '../../api/table.ts'
import { isolations } from '../../domain/sandbox/spec.ts'
import { toAwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { limits } from '../limits.ts'
import { boundedOutput, boundedStreams } from '../output.ts'
import { pickFields, pickValues } from '../schema.ts'
import { countIn, entry, nextCursor, type ToolContext } from '../tool.ts'
import { cutField, endText, failure, outputFields, outputText } from './commands.ts'
import { folder, withFolder, type WithFolder } from './workspaces.ts'

type Run = Outputs['runs'][number]

const shown = [
  'run',
  'number',
  'workspace',
  'state',
  'agent',
  'started_at',
  'ended_at',
  'exit',
  'problem',
  'before',
  'snapshot',
] as const satisfies readonly (keyof Run)[]

const runs = operations.find(({ name }) => name === 'runs')
const run: JsonSchema = pickFields(runs?.output.items ?? {}, shown)
const summaryOf = (view: Run): Pick<Run, (typeof shown)[number]> => pickValues(view, shown)
const isOver = ({ ended_at: end }: Run): boolean => end !== null

const line = ({ workspace, number, state, exit }: Run): string =>
  `run ${number} of ${workspace}: ${state}${exit === null ? '' : `, ${endText(exit)}`}`

export interface Waiting {
  readonly wait_ms?: number
  readonly cursor?: string
}

export const runTools = [
  entry<'run', WithFolder>({
    name: 'run',
    title: 'Run an agent or a long command',
    of: 'run',
    description:
      'Run a coding agent with a prompt (claude, codex …), or with argv a command, in a workspace: a new one, or the one ' +
      'named by id if nothing is said about what it starts from. Waits for the end and tells what was changed; what it ' +
      'left is kept as a snapshot. With detach it answers as soon as it runs, and get_run tells the rest. Cancelling the ' +
      'call cancels the run.',
    fields: [
      'prompt',
      'agent',
      'model',
      'argv',
      'id',
      'repo',
      'ref',
      'from_workspace',
      'at',
      'template',
      'variables',
      'labels',
      'ttl',
      'resume',
      'detach',
      'cwd',
      'env',
      'allow',
      'timeout_ms',
    ],
    outward: ['repo', 'ref', 'from_workspace', 'at', 'template', 'variables', 'labels', 'ttl', 'allow', 'folder'],
    add: folder,
    output: object({
      run: run as never,
      isolation: optional(choice(isolations, 'Behind which walls it runs')),
      notes: optional(list(string('A note'), 'What its owner should know')),
      changes: optional(
        nullable(
          object({ added: integer('New paths'), changed: integer('Changed ones'), removed: integer('Gone ones') }),
        ),
      ),
      stdout: string('What it wrote to standard output'),
      stderr: string('What it wrote to standard error'),
      cut: cutField,
    }),
    hints: { destructiveHint: true, openWorldHint: true },
    async run(manager, input, { call, onOutput }) {
      const { stdout, stderr, add } = boundedStreams(onOutput)
      let known: Partial<Outputs['run']> = {}
      for await (const item of manager.stream('run', withFolder(input), call)) {
        if (item.type === 'failed') throw failure(item.error)
        if (item.type === 'started' || item.type === 'ended') known = { ...known, ...item }
        else if (item.data !== undefined) add(item.type, item.data)
      }
      const wrote = outputFields(stdout, stderr, 'get_run gives all of it in parts.')
      const view = known.run as Run
      const more = isOver(view) ? [] : ['It goes on: ask get_run how it is']
      return {
        structured: { run: summaryOf(view), ...pickValues(known, ['isolation', 'notes', 'changes']), ...wrote },
        text: [outputText(wrote) + line(view), ...more].join('\n'),
      }
    },
  }),
  entry<'logs', Waiting>({
    name: 'get_run',
    title: 'Look at a run',
    of: 'logs',
    description:
      'How a run is doing and what it wrote, also one that is under way: the last run of a workspace, or another by its ' +
      'number. wait_ms waits for its end, at most so long. Output comes in parts: next_cursor leads to what follows.',
    fields: ['id', 'run', 'last_kb'],
    add: {
      wait_ms: integer('Wait so long for the end of the run', { minimum: 0, maximum: limits.mostWaitMs }),
      cursor: { type: 'string', description: 'next_cursor of the answer before, for what was written after it' },
    },
    output: object({
      run: run as never,
      output: string('What it wrote, standard output and standard error as they came'),
      lost_bytes: integer('So many bytes of its output were not kept'),
      next_cursor: nextCursor,
    }),
    async run(manager, { wait_ms: wait, cursor, ...input }, context) {
      const from = cursor === undefined ? undefined : countIn(cursor)
      const view = await lookAt(manager, input, wait, context)
      const wrote = await readLogPart(manager, { ...input, from }, context)
      const next = wrote.more || !isOver(view) ? String(wrote.next) : null
      const more = next === null ? [] : [`next_cursor is ${next}`]
      return {
        structured: { run: summaryOf(view), output: wrote.text, lost_bytes: wrote.lost, next_cursor: next },
        text: [wrote.text, line(view), ...more].filter((one) => one !== '').join('\n'),
      }
    },
  }),
] as const

async function lookAt(
  manager: Manager,
  { id, run: number }: { id: string; run?: number | undefined },
  wait: number | undefined,
  { call }: ToolContext,
): Promise<Run> {
  // Its errors are those of logs: it says which run is not there.
  const look = async (): Promise<Run | undefined> => {
    const all = await manager.call('runs', { id }, call)
    return number === undefined ? all.at(-1) : all.find((one) => one.number === number)
  }
  const found = await look()
  if (found === undefined) {
    for await (const _ of manager.stream('logs', { id, run: number }, call)) break
    throw new TypeError('logs knows a run that runs does not')
  }
  if (wait === undefined || isOver(found)) return found
  try {
    await manager.call('wait', { id, timeout_ms: wait }, call)
  } catch (error) {
    if (toAwError(error).code !== 'timeout') throw error
  }
  return (await look()) ?? found
}

/** As much as an answer holds, from a position on. */
async function readLogPart(
  manager: Manager,
  input: { id: string; run?: number | undefined; from: number | undefined; last_kb?: number | undefined },
  { call }: ToolContext,
): Promise<{ text: string; next: number; more: boolean; lost: number }> {
  const output = boundedOutput()
  const most = limits.outputHeadBytes + limits.outputTailBytes
  let next = input.from ?? 0
  let lost = 0
  for await (const item of manager.stream('logs', input, call)) {
    const data = Buffer.from(item.data)
    if (output.bytes > 0 && output.bytes + data.length > most) return { text: output.text(), next, more: true, lost }
    output.add(data)
    lost += item.lost ?? 0
    next = item.next
  }
  return { text: output.text(), next, more: false, lost }
}
