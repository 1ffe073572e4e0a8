import { checkedObject, invalidConfig, uniqueMember } from '../user-file/json-object.ts'
import { readJson, withMember, withoutMember, withValue, type JsonNode } from '../user-file/json-text.ts'
import { isOurs, serverName, serverNameTaken, type Configuration } from './server-entry.ts'

const list = 'mcpServers'

/** `~/.claude.json` and `.mcp.json`. Everything else in them stays byte for byte. */
export const claudeConfiguration: Configuration = {
  with(file, text, entry) {
    const { command, args } = entry
    const before = checkedObject(file, text.trim() === '' ? '{}\n' : text)
    const { root, servers, ours } = found(file, before)
    if (servers === undefined) return withMember(before, root, list, { [serverName]: { type: 'stdio', command, args } })
    if (ours === undefined) return withMember(before, servers, serverName, { type: 'stdio', command, args })
    if (!isOurs(ours.value, entry)) throw serverNameTaken(file)
    const was = ours.value as Readonly<Record<string, unknown>>
    const same = was['command'] === command && JSON.stringify(was['args']) === JSON.stringify(args)
    return same ? before : withValue(before, ours, { ...was, command, args })
  },
  without(file, text, entry) {
    if (text.trim() === '') return text
    const { root, servers, ours } = found(file, checkedObject(file, text))
    if (servers === undefined || ours === undefined || !isOurs(ours.value, entry)) return text
    // What we made goes with what was in it; an empty list of the user's own would be no more than this.
    return servers.members.length === 1 ? withoutMember(text, root, list) : withoutMember(text, servers, serverName)
  },
}

function found(
  file: string,
  text: string,
): { root: JsonNode; servers: JsonNode | undefined; ours: JsonNode | undefined } {
  const root = readJson(text)
  const servers = uniqueMember(file, root, list, 'it')
  if (servers === undefined) return { root, servers, ours: undefined }
  const ours = uniqueMember(file, servers, serverName, list)
  if (ours !== undefined && (typeof ours.value !== 'object' || ours.value === null))
    throw invalidConfig(file, `${list}.${serverName} is not an object`)
  return { root, servers, ours }
}
