import { parse, type TomlTable } from 'smol-toml'
import { invalidConfig } from '../user-file/json-object.ts'
import { isOurs, serverName, serverNameTaken, type Configuration, type ServerEntry } from './server-entry.ts'

const list = 'mcp_servers'

/**
 * `config.toml` of Codex. It is changed as text, line by line, so that comments and order stay; then both texts are read,
 * and unless nothing but our own part means something else it is refused.
 */
export const codexConfiguration: Configuration = {
  with(file, text, entry) {
    const was = serverIn(read(file, text))
    if (was === undefined) return proved(file, text, text + joint(text) + sectionOf(entry, endOf(text)), entry)
    if (!isOurs(was, entry)) throw serverNameTaken(file)
    const wanted = { ...was, command: entry.command, args: entry.args }
    if (JSON.stringify(was) === JSON.stringify(wanted)) return text
    return proved(file, text, withKeys(text, entry), wanted)
  },
  without(file, text, entry) {
    const was = serverIn(read(file, text))
    return was === undefined || !isOurs(was, entry) ? text : proved(file, text, withoutSections(text), undefined)
  },
}

function read(file: string, text: string): TomlTable {
  try {
    return parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw invalidConfig(file, String(error))
  }
}

const serverIn = (config: TomlTable): TomlTable | undefined =>
  (config[list] as TomlTable | undefined)?.[serverName] as TomlTable | undefined

function proved(file: string, before: string, after: string, wanted: object | undefined): string {
  const now = read(file, after)
  const isSame = restOf(read(file, before)) === restOf(now)
  if (isSame && JSON.stringify(serverIn(now)) === JSON.stringify(wanted)) return after
  throw invalidConfig(file, `${list}.${serverName} is written in a way that only its author can change`)
}

/** All but our part, to be compared. */
function restOf(config: TomlTable): string {
  const { [serverName]: _ours, ...others } = (config[list] ?? {}) as TomlTable
  const { [list]: _all, ...rest } = config
  return JSON.stringify([rest, others])
}

const endOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

/** An empty line, and the end of a last line that has none. */
function joint(text: string): string {
  const end = endOf(text)
  if (text === '' || text === '\ufeff') return ''
  return text.endsWith('\n') ? end : end + end
}

const keysOf = ({ command, args }: ServerEntry): Record<'command' | 'args', string> => ({
  command: `command = ${JSON.stringify(command)}`,
  args: `args = [${args.map((word) => JSON.stringify(word)).join(', ')}]`,
})

const sectionOf = (entry: ServerEntry, end: string): string =>
  [`[${list}.${serverName}]`, keysOf(entry).command, keysOf(entry).args, ''].join(end)

const name = `(?:${serverName}|"${serverName}"|'${serverName}')`
const header = new RegExp(String.raw`^\s*\[\s*${list}\s*\.\s*${name}\s*\]`)
/** Also the tables below it, as those of its environment. */
const ownHeader = new RegExp(String.raw`^\s*\[\s*${list}\s*\.\s*${name}\s*(?:\.[^\]]*)?\]`)

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

function withKeys(text: string, entry: ServerEntry): string {
  const keys = keysOf(entry)
  let inside = false
  return linesOf(text)
    .map((line) => {
      if (/^\s*\[/.test(line)) inside = header.test(line)
      const key = inside ? /^\s*(command|args)\s*=/.exec(line)?.[1] : undefined
      return key === undefined ? line : keys[key as 'command' | 'args'] + (/\r?\n$/.exec(line)?.[0] ?? '')
    })
    .join('')
}

function withoutSections(text: string): string {
  let inside = false
  const kept: string[] = []
  for (const line of linesOf(text)) {
    if (/^\s*\[/.test(line)) {
      // The empty line before it is ours too.
      if (ownHeader.test(line) && !inside && kept.at(-1)?.trim() === '') kept.pop()
      inside = ownHeader.test(line)
    }
    if (!inside) kept.push(line)
  }
  return kept.join('')
}
