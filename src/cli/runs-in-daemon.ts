import { namesHostResource } from '../api/host-fields.ts'
import type { Operation } from '../api/operation.ts'
import { operations } from '../api/table.ts'
import { leadingGlobals, sortArguments } from './input/arguments.ts'
import { hasCustomHandler } from './call.ts'
import { findCommand } from './command.ts'
import { commandFlags } from './input/flags.ts'
import { mergeGlobals, readGlobals } from './input/globals.ts'

/**
 * Whether a daemon can run a command line for somebody else and tell what it would have shown: nothing in it is about what
 * is around the caller but words. Whatever is not understood here is left to the caller, who says what is wrong with it.
 */
export function canRunInDaemon(args: readonly string[]): boolean {
  try {
    const leading = leadingGlobals(args)
    const command = findCommand(leading.rest, operations)
    if (command.kind !== 'operation' || !isTextOnly(command.operation)) return false
    const given = sortArguments(command.rest, commandFlags(command.operation))
    const { home, configFile, set } = readGlobals(mergeGlobals(leading.globals, given.globals))
    const brings = home !== undefined || configFile !== undefined || Object.keys(set).length > 0
    return !brings && [...given.fields].every(([field, texts]) => isWord(command.operation, field, texts))
  } catch {
    return false
  }
}

/** It takes and gives words, once: no content of a file, no stream, nothing of the terminal. */
export function isTextOnly(operation: Operation): boolean {
  const { near, form = 'value', takes, gives, input, name, positional } = operation
  if (near === true || form !== 'value' || takes !== undefined || gives !== undefined || hasCustomHandler(name))
    return false
  return !Object.entries(input.properties ?? {}).some(
    ([field, schema]) => schema['x-cli'] === 'stdin' || (positional.includes(field) && namesHostResource(schema)),
  )
}

/** What begins so may be read from a file, as a secret is: that is the caller's to do. */
const isWord = ({ input }: Operation, field: string, texts: readonly string[]): boolean =>
  !namesHostResource(input.properties?.[field]) && field !== 'secret' && !texts.some((text) => text.startsWith('@'))
