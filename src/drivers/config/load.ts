import { isAbsolute, join, resolve } from 'node:path'
import { resolveConfig, type Config } from '../../domain/config/config.ts'
import { AwError } from '../../domain/errors.ts'
import { readIfPresent } from '../../sys/fs/durable-file.ts'
import { hasCode } from '../../sys/syscalls/errno.ts'

export interface ConfigLocations {
  readonly home: string
  readonly configFile?: string | undefined
  readonly set?: Readonly<Record<string, string>> | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** `--config-file`, AW_CONFIG or `aw.toml` in the home; a file that was asked for by name must exist. */
export async function loadConfig(places: ConfigLocations): Promise<{ config: Config; file: string | undefined }> {
  const named = places.configFile ?? places.env['AW_CONFIG']
  const file = named === undefined ? join(places.home, 'aw.toml') : resolve(places.cwd, named)
  const text = readConfig(file)
  if (text === undefined && named !== undefined) {
    throw new AwError('invalid_config', `There is no configuration file ${file}`, { data: { file } })
  }
  const { parsed, lineOf } = text === undefined ? {} : await parseToml(text, file)
  const locate = (key: string) => ({ file, ...lineOf?.(key) })
  const config = resolveConfig({ file: parsed, locate, env: places.env, set: places.set })
  return { config, file: text === undefined ? undefined : file }
}

/** A setting that names a directory: empty means the default, relative means below the home. */
export function directoryOf(setting: string, home: string, fallback: string): string {
  if (setting === '') return join(home, fallback)
  const path = isAbsolute(setting) ? setting : join(home, setting)
  return path.replace(/(?<=.)\/+$/, '')
}

interface ParsedFile {
  readonly parsed: Record<string, unknown>
  readonly lineOf: (key: string) => { line: number } | undefined
}

/** The parser is loaded only when there is something to parse. */
async function parseToml(text: string, file: string): Promise<ParsedFile> {
  const { parse } = await import('smol-toml')
  try {
    return { parsed: parse(text), lineOf: (key) => lineIn(parse, text.split(/\r?\n/), key) }
  } catch (error) {
    throw new AwError('invalid_config', `${file} is not valid TOML: ${whereAndWhy(error)}`, {
      hint: 'Fix the line it names',
      data: { file },
      cause: error,
    })
  }
}

/** The parser does not say where a key stood: it is the first line up to which the text has that key. */
function lineIn(parse: (text: string) => object, lines: readonly string[], key: string): { line: number } | undefined {
  for (let line = 1; line <= lines.length; line++) {
    try {
      if (hasKey(parse(lines.slice(0, line).join('\n')), key.split('.'))) return { line }
    } catch {
      // In the middle of a value of several lines.
    }
  }
  return undefined
}

function hasKey(table: unknown, [name = '', ...rest]: readonly string[]): boolean {
  if (typeof table !== 'object' || table === null || !Object.hasOwn(table, name)) return false
  return rest.length === 0 || hasKey((table as Record<string, unknown>)[name], rest)
}

/** The parser shows the lines around it too, which a message of one line has no room for. */
function whereAndWhy(error: unknown): string {
  const { message, line, column } = error as Error & { line?: number; column?: number }
  const why = message.split('\n', 1)[0]?.replace('Invalid TOML document: ', '')
  return line === undefined ? `${why}` : `line ${line}, column ${column}: ${why}`
}

function readConfig(file: string): string | undefined {
  try {
    return readIfPresent(file)
  } catch (error) {
    if (!hasCode(error, 'EISDIR')) throw error
    throw new AwError('invalid_config', `${file} is a directory`, {
      hint: 'Name the file that has the settings',
      data: { file },
      cause: error,
    })
  }
}
