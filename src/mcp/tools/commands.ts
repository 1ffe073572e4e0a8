import { choice, integer, list, nullable, object, optional, string } from '../../api/schema.ts'
import { exitView } from '../../api/views.ts'
import { isolations } from '../../domain/sandbox/spec.ts'
import { AwError, type ErrorCode } from '../../domain/errors.ts'
import { boundedStreams, type BoundedOutput } from '../output.ts'
import { pickValues } from '../schema.ts'
import { entry } from '../tool.ts'

const ending = ['code', 'signal', 'duration_ms', 'timed_out', 'output_cut', 'over_limit'] as const

export const cutField = optional(string('What was left out of this answer, and how to get it'))

/** What a command wrote, and what of it is not in the answer. */
export function outputFields(stdout: BoundedOutput, stderr: BoundedOutput, hint: string) {
  const cut = [
    stdout.omitted > 0 ? `${stdout.omitted} of ${stdout.bytes} bytes of standard output` : '',
    stderr.omitted > 0 ? `${stderr.omitted} of ${stderr.bytes} bytes of standard error` : '',
  ].filter((part) => part !== '')
  return {
    stdout: stdout.text(),
    stderr: stderr.text(),
    ...(cut.length > 0 && { cut: `Left out of the middle: ${cut.join(' and ')}. ${hint}` }),
  }
}

/** For those who read only text. */
export function outputText({ stdout, stderr, cut }: { stdout: string; stderr: string; cut?: string }): string {
  const parts = [stdout, stderr === '' ? '' : `[standard error]\n${stderr}`, cut === undefined ? '' : `[${cut}]`]
  return parts
    .filter((part) => part !== '')
    .map((part) => (part.endsWith('\n') ? part : `${part}\n`))
    .join('')
}

export const endText = ({ code, signal, timed_out: late }: Ending): string => {
  if (late === true) return 'ended: its time was over'
  return signal === undefined || signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`
}

export interface Ending {
  readonly code?: number | null | undefined
  readonly signal?: string | null | undefined
  readonly timed_out?: boolean | undefined
}

/** One that came as an item of a stream. */
export const failure = (error: { code: string; message: string; hint: string | null } | undefined): AwError =>
  new AwError((error?.code ?? 'internal') as ErrorCode, error?.message ?? 'It failed', {
    ...(error?.hint != null && { hint: error.hint }),
  })

export const commandTools = [
  entry<'exec'>({
    name: 'exec',
    title: 'Run a command',
    of: 'exec',
    description:
      'Run a program in a workspace, behind its walls, and wait for its end. argv is the program and its arguments; for ' +
      'pipes, && or globs use ["sh", "-c", "…"]. It starts where the content of the workspace is. Any exit code is a ' +
      'result, not an error of this tool. By default there is no network; allow names the hosts it may reach. Long ' +
      'output is cut in the middle.',
    fields: ['id', 'argv', 'cwd', 'env', 'allow', 'timeout_ms'],
    outward: ['allow'],
    required: ['id'],
    output: object({
      workspace: string('In which workspace'),
      command: string('Its id, cmd_…'),
      isolation: choice(isolations, 'Behind which walls it ran'),
      notes: optional(list(string('A note'), 'What the walls do not keep, or keep otherwise than was asked for')),
      code: optional(nullable(integer('Its exit code; null if a signal ended it'))),
      signal: optional(exitView.signal),
      duration_ms: optional(exitView.duration_ms),
      timed_out: optional(exitView.timed_out),
      output_cut: optional(exitView.output_cut),
      over_limit: optional(exitView.over_limit),
      stdout: string('What it wrote to standard output'),
      stderr: string('What it wrote to standard error'),
      cut: cutField,
    }),
    hints: { destructiveHint: true, openWorldHint: true },
    async run(manager, input, { call, onOutput }) {
      const { stdout, stderr, add } = boundedStreams(onOutput)
      let started = {}
      let exit: Ending = {}
      for await (const item of manager.stream('exec', input, call)) {
        if (item.type === 'started') started = pickValues(item, ['workspace', 'command', 'isolation', 'notes'])
        else if (item.type === 'exit') exit = pickValues(item, ending)
        else if (item.type === 'failed') throw failure(item.error)
        else add(item.type, item.data ?? '')
      }
      const wrote = outputFields(
        stdout,
        stderr,
        'Send the output to a file, as with > out.txt, and read that in parts with read_file.',
      )
      return { structured: { ...started, ...exit, ...wrote }, text: `${outputText(wrote)}[${endText(exit)}]` }
    },
  }),
] as const
