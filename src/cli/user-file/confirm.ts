import { AwError } from '../../domain/errors.ts'
import type { Io } from '../io.ts'

/** Asks on the terminal; only a yes is one. */
export async function confirm(question: string, io: Io): Promise<boolean> {
  if (!io.stdinIsTerminal || !io.stderr.isTerminal)
    throw new AwError('invalid_input', 'There is no terminal to ask on', {
      hint: 'Say yes with --yes, or only look with --dry-run',
      data: { flag: '--yes' },
    })
  await io.stderr.write(`${question} [y/N] `)
  let line = ''
  for await (const chunk of io.input()) {
    line += Buffer.from(chunk).toString()
    if (line.includes('\n') || line.includes('\r')) break
  }
  return /^y(?:es)?\s*$/i.test(line)
}
