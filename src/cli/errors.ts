import { toAwError, type AwError } from '../domain/errors.ts'
import { paint, wantsColor } from './output/color.ts'
import { ClosedOutput, type Io } from './io.ts'
import { visible } from '../domain/text/visible.ts'

export interface ErrorForm {
  readonly json: boolean
  readonly noColor: boolean
}

/** Says what went wrong on standard error and answers with the exit code. */
export async function reportError(thrown: unknown, io: Io, form: ErrorForm): Promise<number> {
  if (thrown instanceof ClosedOutput) return 0
  const error = toAwError(thrown)
  const text = form.json ? `${JSON.stringify(errorObject(error))}\n` : humanError(error, io, form.noColor)
  const trace = io.env['AW_DEBUG'] === '1' && !form.json ? `${stackOf(thrown)}\n` : ''
  // When standard error is gone too, the exit code still tells.
  await io.stderr.write(text + trace).catch(() => undefined)
  return error.exitCode
}

/** The promise to programs: these four fields, on one line. */
export const errorObject = (error: AwError): Record<string, unknown> => ({
  code: error.code,
  message: error.message,
  hint: hintOf(error) ?? null,
  data: error.data,
})

export function humanError(error: AwError, io: Io, noColor: boolean): string {
  const { red, bold, dim } = paint(wantsColor(io.stderr.isTerminal, io.env, noColor))
  const hint = hintOf(error)
  const first = `${bold(red('aw:'))} ${visible(error.message)}\n${outputOf(error, io)}`
  return hint === undefined ? first : `${first}  ${dim('hint:')} ${visible(hint)}\n`
}

/** The last lines of what failed; on a terminal they stand there already. */
function outputOf({ code, data }: AwError, io: Io): string {
  const lines = code === 'setup_failed' && !io.stderr.isTerminal ? data['output'] : []
  return Array.isArray(lines) ? lines.map((line) => `  ${visible(String(line))}\n`).join('') : ''
}

function hintOf(error: AwError): string | undefined {
  if (error.hint !== undefined && error.hint !== '') return error.hint
  if (error.code !== 'internal') return undefined
  return 'This is a defect in aw. Run the command again with AW_DEBUG=1 to see where, and report it'
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const cause = thrown.cause === undefined ? '' : `\ncaused by ${stackOf(thrown.cause)}`
  return (thrown.stack ?? thrown.message) + cause
}
