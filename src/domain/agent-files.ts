import { AwError } from './errors.ts'

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
export function compose(files: AgentFiles, variables: Readonly<Record<string, string>>): string {
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

const begin = '<!-- aw:begin (written by aw; changes inside this block are lost) -->'
const end = '<!-- aw:end -->'

/** What was there stays as it is, text or not; ours is one block between markers, replaced if it is there already. */
export function inject(existing: Buffer, text: string): Buffer {
  const block = Buffer.from(`${begin}\n${text.trimEnd()}\n${end}\n`)
  if (existing.length === 0) return block
  const from = existing.indexOf(begin)
  const to = from < 0 ? -1 : existing.indexOf(end, from)
  if (to >= 0) {
    const rest = existing.subarray(to + end.length)
    return Buffer.concat([existing.subarray(0, from), block, rest[0] === newline ? rest.subarray(1) : rest])
  }
  return Buffer.concat([existing, Buffer.from(existing.at(-1) === newline ? '\n' : '\n\n'), block])
}

const newline = 0x0a
