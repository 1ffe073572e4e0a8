import { AwError } from '../errors.ts'

/** Half a character has no bytes: it would be passed on as another one. */
const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** What the kernel can pass to a program. Callers of a door are not bound by types. */
export function assertCommandTexts(command: {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}): void {
  const { argv, env } = command
  if (!Array.isArray(argv) || argv.length === 0 || !argv.every(isText) || argv[0] === '') {
    throw new AwError(
      'invalid_input',
      'A command is a list of texts in whole characters, the program first, without NUL bytes',
      {
        data: { field: 'argv' },
      },
    )
  }
  for (const [variable, value] of Object.entries(env)) {
    if (/^[^=\0]+$/.test(variable) && isText(variable) && isText(value)) continue
    throw new AwError('invalid_input', `${JSON.stringify(variable)} is no variable that a command can have`, {
      data: { field: 'env' },
    })
  }
}
