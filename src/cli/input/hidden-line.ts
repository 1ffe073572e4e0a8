import { AwError } from '../../domain/errors.ts'
import type { Io } from '../io.ts'

const keys = { interrupt: 3, end: 4, backspace: 8, lineFeed: 10, enter: 13, delete: 127 } as const

/** Asks for a line on the terminal without showing what is typed. */
export async function readHiddenLine(question: string, io: Io): Promise<string> {
  using _ = await io.terminal.raw()
  await io.stderr.write(question)
  const typed: number[] = []
  try {
    for await (const chunk of io.input()) {
      for (const key of chunk) {
        if (key === keys.interrupt) throw new AwError('aborted', 'Stopped before it was done')
        if (key === keys.enter || key === keys.lineFeed || key === keys.end) return decoded(typed)
        if (key === keys.backspace || key === keys.delete) eraseLast(typed)
        else typed.push(key)
      }
    }
    return decoded(typed)
  } finally {
    await io.stderr.write('\r\n')
  }
}

/** A character may be several bytes. */
function eraseLast(typed: number[]): void {
  while (((typed.at(-1) ?? 0) & 0xc0) === 0x80) typed.pop()
  typed.pop()
}

const decoded = (typed: readonly number[]): string => new TextDecoder().decode(Uint8Array.from(typed))
