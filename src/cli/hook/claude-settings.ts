import { AwError } from '../../domain/errors.ts'
import { checkedObject, invalidConfig, uniqueMember } from '../user-file/json-object.ts'
import {
  memberOf,
  readJson,
  withMember,
  withoutItem,
  withoutMember,
  withValue,
  type JsonNode,
} from '../user-file/json-text.ts'

/** The hooks of `aw` in a settings file of Claude Code. */

const events = ['WorktreeCreate', 'WorktreeRemove'] as const
type Event = (typeof events)[number]

/** A first copy of something large may take longer than the ten minutes that a hook has by itself. */
const createSeconds = 1800

/** With ours, as they should be. `invalid_config` if another command has one of the two events. */
export function withHooks(file: string, text: string, command: string): string {
  const empty = text.trim() === '' ? '{}\n' : text
  return events.reduce((before, event) => withHook(file, before, event, command), checkedObject(file, empty))
}

/** Without ours; what is empty then goes too. */
export function withoutHooks(file: string, text: string, own: string): string {
  if (text.trim() === '') return text
  return events.reduce((before, event) => withoutHook(file, before, event, own), checkedObject(file, text))
}

/** What the file has for our events already, ours and others. */
export function commandsIn(file: string, text: string, own: string): { command: string; ours: boolean }[] {
  if (text.trim() === '') return []
  const root = readJson(checkedObject(file, text))
  return events.flatMap((event) => hooksOf(file, root, event).map(({ hook }) => described(hook, own)))
}

function withHook(file: string, text: string, event: Event, command: string): string {
  const root = readJson(text)
  const found = hooksOf(file, root, event)
  for (const { hook } of found)
    if (!described(hook, command).ours) throw taken(file, event, described(hook, command).command)
  const [first] = found
  if (first !== undefined) {
    const written = memberOf(first.hook, 'command')
    return written === undefined || written.value === command ? text : withValue(text, written, command)
  }
  const hook = { type: 'command', command, ...(event === 'WorktreeCreate' && { timeout: createSeconds }) }
  const entries = [{ hooks: [hook] }]
  const hooks = memberOf(root, 'hooks')
  if (hooks === undefined) return withMember(text, root, 'hooks', { [event]: entries })
  const bare = memberOf(hooks, event) === undefined ? text : withoutMember(text, hooks, event)
  return withMember(bare, memberOf(readJson(bare), 'hooks') ?? hooks, event, entries)
}

/** One at a time, as each makes the places of the others wrong. */
function withoutHook(file: string, text: string, event: Event, own: string): string {
  const root = readJson(text)
  const found = hooksOf(file, root, event).find(({ hook }) => described(hook, own).ours)
  if (found === undefined) return text
  const { at, list, array, index } = found
  const hooks = memberOf(root, 'hooks')
  if (hooks === undefined) return text
  if (list.items.length > 1) return withoutHook(file, withoutItem(text, list, at), event, own)
  if (array.items.length > 1) return withoutHook(file, withoutItem(text, array, index), event, own)
  if (hooks.members.length > 1) return withoutMember(text, hooks, event)
  return withoutMember(text, root, 'hooks')
}

interface Found {
  readonly hook: JsonNode
  readonly list: JsonNode
  readonly at: number
  readonly array: JsonNode
  readonly index: number
}

function hooksOf(file: string, root: JsonNode, event: Event): Found[] {
  const hooks = uniqueMember(file, root, 'hooks', 'hooks')
  const array = hooks === undefined ? undefined : uniqueMember(file, hooks, event, 'hooks')
  if (array === undefined) return []
  if (!Array.isArray(array.value)) throw invalidConfig(file, `hooks.${event} is not a list`)
  return array.items.flatMap((entry, index) => {
    const list = memberOf(entry, 'hooks')
    if (list === undefined || !Array.isArray(list.value))
      throw invalidConfig(file, `hooks.${event} has an entry without hooks`)
    return list.items.map((hook, at) => ({ hook, list, at, array, index }))
  })
}

/** `own`: as this program would write it; others of its kind are known by their last words. */
function described(hook: JsonNode, own: string): { command: string; ours: boolean } {
  const { type, command } = (hook.value ?? {}) as { type?: unknown; command?: unknown }
  const text = type === 'command' && typeof command === 'string' ? command : JSON.stringify(hook.value)
  return {
    command: text,
    ours: text === own || /(?:^|[\s/'])(?:aw|aw\.cjs|main\.ts)'?(?:\s.*)?\shook claude$/.test(text),
  }
}

const taken = (file: string, event: Event, command: string): AwError =>
  new AwError('invalid_config', `${file} has another command for ${event} already: ${command.slice(0, 200)}`, {
    hint: 'Claude Code would run both for each work tree. Remove that one first, then run this again',
    data: { file, event, command },
  })
