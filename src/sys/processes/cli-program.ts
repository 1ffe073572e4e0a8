import { createRequire } from 'node:module'
import { AwError } from '../../domain/errors.ts'

/** The command line as a program with its first argument: from a checkout the source itself, from the package a file. */
export function cliCommand(): [string, string] {
  const { resolve } = createRequire(import.meta.url)
  for (const place of ['../../cli/main.ts', './aw.cjs', '../aw.cjs']) {
    try {
      return [process.execPath, resolve(place)]
    } catch {
      // The next place.
    }
  }
  throw new AwError('internal', 'The command line is missing', { hint: 'Install aw again' })
}
