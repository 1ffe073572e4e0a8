import { AwError } from '../errors.ts'
import { textRef } from '../text/ref.ts'

/** Files that coding agents read on their own. Both get the same content. */
export const agentFileNames = ['CLAUDE.md', 'AGENTS.md'] as const

/** The parts an agent file is composed of, in this order. */
const blockOrder = [
  'workspace_rules',
  'project_context',
  'task_context',
  'workstream_context',
  'code_guidelines',
  'testing_guidelines',
  'git_workflow',
] as const

export interface AgentFiles {
  /** Text by block name; `{{variable}}` is replaced. */
  readonly blocks: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
}

/** Known blocks in their order, others after them by name, one empty line between. */
export function composeAgentText(files: AgentFiles, variables: Readonly<Record<string, string>>): string {
  const known: readonly string[] = blockOrder
  const others = Object.keys(files.blocks).filter((name) => !known.includes(name))
  const texts = [...known, ...others.toSorted()].flatMap((name) => {
    const text = Object.hasOwn(files.blocks, name) ? files.blocks[name] : undefined
    return text === undefined ? [] : [interpolate(text, { ...variables, ...files.variables }, name).trim()]
  })
  return texts.filter((text) => text !== '').join('\n\n')
}

function interpolate(text: string, variables: Readonly<Record<string, string>>, block: string): string {
  return text.replaceAll(/\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (value !== undefined) return value
    throw new AwError('invalid_input', `The block ${block} uses {{${name}}}, and there is no such variable`, {
      hint: `Known are: ${Object.keys(variables).toSorted().join(', ')}`,
      data: { field: `agent_files.blocks.${block}`, variable: name },
    })
  })
}

/** A block that aw has put into an agent file: which file of the tree, and the hash of the block. */
export interface AgentBlock {
  readonly path: string
  readonly sha256: string
}

const begin = '<!-- aw:begin (written by aw; changes inside this block are lost) -->'
const end = '<!-- aw:end -->'

/** A larger file is nobody's instructions: it is neither added to nor searched. */
export const maxAgentFileBytes = 2 ** 20

/** In the text itself a marker would be taken for one of these. */
const blockOf = (text: string): string =>
  `${begin}\n${text.trimEnd().replaceAll(/<!-- aw:(?=begin|end)/g, '<!-- aw: ')}\n${end}\n`

/** What is known of the block that a text becomes, for each file that gets it. */
export const blocksFor = (text: string, paths: readonly string[]): AgentBlock[] =>
  text === '' ? [] : paths.map((path) => ({ path, sha256: textRef(blockOf(text)).sha256 }))

export interface WithBlocks {
  /** What aw has put into files for agents, at any time. Without it, nothing. */
  readonly agent_blocks?: readonly AgentBlock[]
}

/** All of both, each once. */
export function mergeBlocks(
  { agent_blocks: some = [] }: WithBlocks,
  { agent_blocks: more = [] }: WithBlocks,
): WithBlocks {
  const isNew = ({ path, sha256 }: AgentBlock): boolean =>
    !some.some((one) => one.path === path && one.sha256 === sha256)
  const all = [...some, ...more.filter(isNew)]
  return all.length === 0 ? {} : { agent_blocks: all }
}

/**
 * What was there stays as it is, text or not; ours is one block between markers, after it. A known block of ours that is
 * there already goes; one that nobody knows is not ours. {@link withoutBlocks} gives back exactly what was there.
 */
export function inject(existing: Buffer | null, text: string, known: readonly AgentBlock[] = []): Buffer {
  const block = Buffer.from(blockOf(text))
  const rest = existing === null ? null : withoutBlocks(existing, known).rest
  return rest === null ? block : Buffer.concat([rest, Buffer.from('\n'), block])
}

/** The same for a file in which nobody else writes blocks, as one of an agent's own state: all that there are go. */
export function injectReplacingAll(existing: Buffer | null, text: string): Buffer {
  const blocks = existing === null ? [] : [...blocksIn(existing)]
  return inject(
    existing,
    text,
    blocks.map(({ sha256 }) => ({ path: '', sha256 })),
  )
}

/** From each end back to the last beginning before it: whoever writes many of them makes nobody look twice. */
function* blocksIn(content: Buffer): Generator<{ from: number; to: number; sha256: string }> {
  let at = 0
  for (let ends = content.indexOf(ending); ends >= 0; ends = content.indexOf(ending, at)) {
    const from = content.subarray(at, ends).lastIndexOf(begin)
    const to = ends + ending.length
    if (from >= 0) yield { from: at + from, to, sha256: textRef(content.toString('utf8', at + from, to)).sha256 }
    at = to
  }
}

const ending = `${end}\n`

/** A file without blocks that are known to be ours. */
export interface StrippedFile {
  /** Null if there is nothing else: then aw has made the file. */
  readonly rest: Buffer | null
  /** How many there were. */
  readonly blocks: number
}

export function withoutBlocks(content: Buffer, known: readonly AgentBlock[]): StrippedFile {
  const ours = new Set(known.map(({ sha256 }) => sha256))
  const found = [...blocksIn(content)].filter(({ sha256 }) => ours.has(sha256))
  const kept: Buffer[] = []
  let [at, size] = [0, 0]
  for (const { from, to } of found) {
    // The newline before it came with it.
    kept.push(content.subarray(at, from > at && content[from - 1] === newline ? from - 1 : from))
    size += to - from
    at = to
  }
  const isAll = found.length > 0 && size === content.length
  return { rest: isAll ? null : Buffer.concat([...kept, content.subarray(at)]), blocks: found.length }
}

const newline = 0x0a
