import { readFileSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Operation } from '../../api/operation.ts'
import { parse } from '../../api/parse.ts'
import { json, type JsonSchema } from '../../api/schema.ts'
import type { Table } from '../../api/table.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { errnoName } from '../../domain/errno.ts'
import { AwError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { missing, type Arguments } from './arguments.ts'
import { commandsOf, commandSuggestions } from '../command.ts'
import { commandField, readsStdin, repeatedAt, usage, type Flag } from './flags.ts'
import { splitPair } from './globals.ts'
import type { Io } from '../io.ts'

type Input = Record<string, unknown>

/** Turns the arguments into the operation's input, checked. A batch gives one input for each of its items. */
export async function inputsOf(operation: Operation, given: Arguments, io: Io): Promise<Input[]> {
  const { flags } = given
  const texts = placePositionals(operation, given, io.table)
  const first = operation.batch === true ? operation.positional[0] : undefined
  const items = first === undefined ? [] : (texts.get(first) ?? [])
  const shared: Input = {}
  for (const flag of flags) {
    if (flag.field === first && items.length > 0) continue
    const values = texts.get(flag.field)
    if (values !== undefined) shared[flag.field] = fieldOf(flag, values, labelOf(flag, given), io.cwd)
    else if (flag.required && readsStdin(flag)) shared[flag.field] = await fromStdin(flag, io)
    else if (flag.required) throw missing(operation, flag)
  }
  if (texts.has('secret')) Object.assign(shared, await secretOf(operation, texts.get('secret')?.[0] ?? '', io))
  const inputs = items.length > 0 ? items.map((item) => ({ ...shared, [first as string]: item })) : [shared]
  for (const input of inputs) parse(operation.input, input)
  return inputs
}

/** Positions fill the fields that no flag has filled, in order; one that may be repeated takes what is left over. */
function placePositionals(operation: Operation, given: Arguments, table: Table): Map<string, readonly string[]> {
  const texts = new Map(given.fields)
  const command = commandField(operation)
  if (command !== undefined && given.command !== undefined)
    texts.set(command, [...(texts.get(command) ?? []), ...given.command])
  const at = repeatedAt(operation)
  const many = at === undefined ? undefined : operation.positional[at]
  const open = operation.positional.filter((field) => field !== command && (field === many || !texts.has(field)))
  const words = [...given.positionals]
  for (const [i, field] of open.entries()) {
    const after = open.length - i - 1
    const count = field === many ? Math.max(0, words.length - after) : Math.min(1, words.length)
    const taken = words.splice(0, count)
    if (operation.input.properties?.[field]?.['x-cli'] === 'pairs') assertPairs(operation, taken, texts)
    if (taken.length > 0) texts.set(field, [...(texts.get(field) ?? []), ...taken])
  }
  if (words.length > 0) throw unexpected(operation, words[0] ?? '', given.positionals[0] ?? '', table)
  for (const flag of given.flags) {
    const values = texts.get(flag.field) ?? []
    if (flag.kind === 'one' && flag.field !== many && values.length > 1) throw twice(labelOf(flag, given))
  }
  return texts
}

/** Errors name the flag as it was typed. */
const labelOf = ({ field, name }: Flag, { typed }: Arguments): string => typed.get(field) ?? `--${name}`

function fieldOf(flag: Flag, texts: readonly string[], label: string, cwd: string): unknown {
  const value = valueOf(flag.schema, texts, label, cwd)
  if (flag.schema.type === 'array') for (const item of value as unknown[]) parse(flag.schema.items ?? {}, item, label)
  // The fields inside have no flags: the check of the whole input names them as every door does.
  else parse(flag.schema['x-cli'] === 'json' ? json('') : flag.schema, value, label)
  return value
}

function valueOf(schema: JsonSchema, texts: readonly string[], label: string, cwd: string): unknown {
  const text = texts[0] ?? ''
  if (text === '' && paths.has(schema['x-cli'] ?? '')) throw emptyPath(label)
  if (schema.contentEncoding === 'base64') return new TextEncoder().encode(text)
  switch (schema['x-cli']) {
    case 'pairs':
      return Object.fromEntries(texts.map((pair) => splitPair(pair, label)))
    case 'json':
      return readJson(text, label, cwd)
    case 'prompt':
      return promptOf(text, label, cwd)
    case 'start':
      return startOf(text, label, cwd)
    case 'file':
      return fileOf(text, cwd)
    case 'output':
      return text === '-' ? text : resolve(cwd, text)
    case 'directory':
      return resolve(cwd, text)
    case 'place':
      // With a slash behind it, it is a directory.
      return /^[^/.][^:]*:/.test(text) ? text : resolve(cwd, text) + (/.\/$/.test(text) ? '/' : '')
    case 'repository':
      return repositoryOf(text, label, cwd)
    case 'duration':
      parseDuration(text, label)
      return text
    case 'milliseconds':
      return label.endsWith('-ms') ? scalar(schema, text) : parseDuration(text, label)
    case 'octal':
      return /^(0o?)?[0-7]+$/.test(text) ? Number.parseInt(text.replace('o', ''), 8) : text
    default:
      return schema.type === 'array' ? listOf(schema, texts) : scalar(schema, text)
  }
}

const paths: ReadonlySet<string> = new Set(['start', 'file', 'output', 'directory', 'place', 'repository'])

/** Not the directory that one happens to stand in: nobody means that by a variable that is not set. */
const emptyPath = (label: string): AwError =>
  new AwError('invalid_input', `${label} is empty`, {
    hint: 'Name it; the directory that you are in is . and a variable that is not set is empty',
    data: { flag: label },
  })

/** `@FILE` is what is in the file; `@@` is an at sign. */
function promptOf(text: string, label: string, cwd: string): string {
  if (!text.startsWith('@')) return text
  if (text.startsWith('@@')) return text.slice(1)
  try {
    return readFileSync(resolve(cwd, text.slice(1)), 'utf8')
  } catch (cause) {
    throw new AwError('file_not_found', `${label} names a file that cannot be read: ${text.slice(1)}`, {
      hint: 'A prompt that begins with an at sign is written with two of them',
      data: { argument: text },
      cause,
    })
  }
}

function fileOf(text: string, cwd: string): string {
  if (text !== '-') return resolve(cwd, text)
  throw new AwError('invalid_input', 'A file is needed here: neither standard input nor output will do', {
    hint: 'Name a file; one that is called - is ./-',
    data: { argument: text },
  })
}

/** A file is an archive; whatever else is named is a folder, and is told so if it is none. */
function startOf(text: string, label: string, cwd: string): unknown {
  if (text === 'empty') return text
  if (isUrl(text))
    // Not repeated: it may hold a password.
    throw new AwError('invalid_input', `${label} names a folder or a file of this machine, not a url`, {
      hint: 'A repository is given with --repo URL',
      data: { flag: label },
    })
  const path = resolve(cwd, text)
  return statOf(path)?.isFile() ? { archive: path } : { folder: path }
}

/** What cannot be reached is not there: whoever opens it says why. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (['ELOOP', 'ENAMETOOLONG'].includes(errnoName(error))) return undefined
    throw error
  }
}

const isUrl = (text: string): boolean => /^([a-z][a-z0-9+.-]*:\/|[^/@:]+@[^/:]+:)/i.test(text)

/** A path, unless it has the form of a url. `acme/web` is nobody's path if it is not there. */
function repositoryOf(text: string, label: string, cwd: string): string {
  if (isUrl(text) || /^[a-z][a-z0-9+.-]*:/i.test(text)) return text
  const path = resolve(cwd, text)
  const whole = /^[\w-]+(\.[\w-]+)+\//.test(text) ? text : `github.com/${text}`
  if (!/^[\w-][\w.-]*(\/[\w.-]+)+$/.test(text) || statOf(path)) return path
  throw new AwError('invalid_input', `There is no directory ${path}`, {
    hint: `A repository elsewhere is given by its whole url, for instance ${label} https://${whole}`,
    data: { flag: label },
  })
}

/** A choice cannot hold a comma, so `--state ready,failed` is plain; other items are taken as they are. */
const listOf = (schema: JsonSchema, texts: readonly string[]): unknown[] =>
  texts
    .flatMap((text) => (schema.items?.enum === undefined ? [text] : text.split(',')))
    .map((text) => scalar(schema.items ?? {}, text))

/** What cannot be converted stays text: `parse` then says what is wrong with it. */
function scalar(schema: JsonSchema, text: string): unknown {
  if (schema.type === 'boolean') return text === 'true'
  const isNumber = schema.type === 'integer' || schema.type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function readJson(text: string, label: string, cwd: string): unknown {
  const file = text.startsWith('@') ? resolve(cwd, text.slice(1)) : undefined
  const what = file === undefined ? label : `The file of ${label}`
  let step = 'cannot be read'
  try {
    const content = file === undefined ? text : readFileSync(file, 'utf8')
    step = 'is not readable as JSON'
    return JSON.parse(content) as unknown
  } catch (error) {
    throw new AwError('invalid_input', `${what} ${step}: ${(error as Error).message}`, {
      hint: `Give an object, ${label} '{"key":"value"}', or a file that holds one, ${label} @file.json`,
      data: { flag: label },
      cause: error,
    })
  }
}

/** Before standard input is read: it may be a person who has to type it. */
export async function promptForStdin(io: Io): Promise<void> {
  if (io.stdinIsTerminal) await io.stderr.write('Reading from the terminal; end with Ctrl-D on a line of its own\n')
}

async function fromStdin(flag: Flag, io: Io): Promise<unknown> {
  await promptForStdin(io)
  const bytes = await io.stdin(io.signal)
  return flag.schema.contentEncoding === 'base64' ? bytes : new TextDecoder().decode(bytes)
}

/** A secret never stands on the command line, where others see it. */
async function secretOf({ input }: Operation, name: string, io: Io): Promise<Input> {
  const fields = Object.entries(input.properties ?? {})
  const field = fields.find(([, schema]) => schema['x-cli'] === 'secret')?.[0]
  if (field === undefined) return {}
  if (!io.stdinIsTerminal) return { [field]: new TextDecoder().decode(await io.stdin(io.signal)) }
  const { readHiddenLine } = await import('./hidden-line.ts')
  return { [field]: await readHiddenLine(`Value of ${name} (not shown): `, io) }
}

/** `aw env set x API_KEY`: the value was forgotten, or is not meant for the eyes of others. */
function assertPairs(operation: Operation, words: readonly string[], texts: ReadonlyMap<string, readonly string[]>) {
  const odd = words.find((word) => !/^[^=]+=/.test(word))
  if (odd === undefined) return
  const line = `aw ${operation.name} ${texts.get('id')?.[0] ?? 'ID'}`
  throw new AwError('invalid_input', `${operation.name} takes NAME=VALUE, not ${JSON.stringify(odd)}`, {
    hint: `Write ${line} ${odd.replace(/^=/, 'NAME=')}=VALUE; for a secret: ${line} --secret ${odd} < FILE`,
    data: { argument: odd },
  })
}

/** `aw snapshot lable x head`: perhaps the first word was meant as part of the command. */
function unexpected(operation: Operation, word: string, first: string, table: Table): AwError {
  if (operation.name === 'cp')
    return new AwError('invalid_input', 'cp copies one thing to one place', {
      hint: 'Copy the directory that holds them all, or run it once for each',
      data: { argument: word },
    })
  if (operation.name === 'run')
    return new AwError('invalid_input', `run takes one prompt; ${JSON.stringify(word)} is one more`, {
      hint: 'Put the prompt into quotes: aw run --repo . --agent claude "Mend the login form"; a command comes after --',
      data: { argument: word },
    })
  const longer = commandsOf(operation.name, table).map(({ name }) => name.slice(operation.name.length + 1))
  const near = nearest(first, longer)
  const close = commandSuggestions[`${operation.name} ${first}`] ?? (near && `${operation.name} ${near}`)
  return new AwError('invalid_input', `${operation.name} does not know what to do with ${JSON.stringify(word)}`, {
    hint: close === undefined ? `Usage: ${usage(operation)}` : `Did you mean aw ${close}?`,
    data: { argument: word },
  })
}

const twice = (flag: string): AwError => new AwError('invalid_input', `${flag} is given twice`, { data: { flag } })
