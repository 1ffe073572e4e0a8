import { boolean, type JsonSchema } from '../../api/schema.ts'

/**
 * Flags that an operation has on the command line alone: they are about the terminal that the command is typed on, of
 * which the operation knows nothing.
 */
const fields: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  status: { once: boolean('On a terminal too, show it once and end') },
  exec: {
    interactive: boolean(
      'Pass standard input on. That is so by itself unless it is a terminal; --no-interactive leaves it alone',
    ),
    tty: boolean('Give the command a terminal: the one that aw runs on, with its keys and its size'),
  },
}

/** One-letter spellings, by field. */
const letters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  exec: { interactive: 'i', tty: 't', env: 'e' },
  shell: { env: 'e' },
  logs: { follow: 'f', tail: 'n' },
}

export const cliOnlyFields = (operation: string | undefined): Readonly<Record<string, JsonSchema>> =>
  fields[operation ?? ''] ?? {}

export const shortFlags = (operation: string | undefined): Readonly<Record<string, string>> =>
  letters[operation ?? ''] ?? {}
