import { AwError } from '../errors.ts'
import { nearest } from '../text/nearest.ts'
import { parseRules } from '../network/rules.ts'
import type { AgentProfile } from './profile.ts'

/**
 * What a user wrote, taken as a profile: every field is known, all of it is of the right kind, and what the parts of a
 * sandbox would refuse later is refused here. `invalid_config` names the field and the file.
 *
 * @param base the rest of the fields: a built-in profile, or what a profile has if it says nothing
 */
export function checkProfile(name: string, given: unknown, base: AgentProfile, file: string): AgentProfile {
  const wrong = (field: string, why: string): never => {
    throw new AwError('invalid_config', `The agent profile ${name} is not right: ${field} ${why}`, {
      hint: `Mend ${file}; the fields are explained in docs/guides/agents.md, and shown by: aw agents show claude --json`,
      data: { file, field },
    })
  }
  if (!isAgentName(name)) wrong('its name', 'is not 1 to 32 of a-z, 0-9 and -')
  if (!isRecord(given)) return wrong('it', 'is not an object')
  const { extends: _, ...fields } = given
  walk(fields, profileShape, '', wrong)
  const profile = { ...base, ...(fields as Partial<AgentProfile>), name }
  if (profile.binary === '') wrong('binary', 'is missing')
  if (profile.command.length === 0) wrong('command', 'is missing')
  checkMeaning(profile, wrong)
  return profile
}

export const isAgentName = (name: string): boolean => /^[a-z0-9][a-z0-9-]{0,31}$/.test(name)

type Wrong = (field: string, why: string) => never
type Shape =
  | 'text'
  | 'texts'
  | 'pairs'
  | readonly string[]
  | { readonly fields: Readonly<Record<string, Shape>>; readonly needed: readonly string[] }
  | { readonly items: Shape }

const profileShape: Shape = {
  needed: [],
  fields: {
    title: 'text',
    binary: 'text',
    install: 'text',
    version: 'texts',
    command: 'texts',
    interactive: 'texts',
    resume: 'texts',
    prompt: ['input', 'argument'],
    unattended: 'texts',
    files: 'texts',
    state: { needed: [], fields: { mount: 'text', env: 'pairs', files: 'pairs', instructions: 'text' } },
    credentials: {
      items: {
        needed: ['from'],
        fields: {
          from: { needed: [], fields: { variable: 'text', file: 'text', field: 'text' } },
          broker: {
            needed: ['name', 'upstream', 'headers', 'env', 'placeholder'],
            fields: {
              name: 'text',
              upstream: 'text',
              upstream_from: 'text',
              headers: 'pairs',
              env: 'pairs',
              placeholder: 'pairs',
              arguments: 'texts',
            },
          },
          file: { needed: ['variable'], fields: { variable: 'text' } },
        },
      },
    },
    network: 'texts',
    login: 'texts',
    protect: 'texts',
    env: 'pairs',
    reads: 'texts',
    mcp: { needed: [], fields: { arguments: 'texts', env: 'pairs', files: 'pairs' } },
  },
}

function walk(value: unknown, shape: Shape, path: string, wrong: Wrong): void {
  const here = path === '' ? 'it' : path
  const below = (name: string | number): string => (path === '' ? String(name) : `${path}.${name}`)
  if (shape === 'text') {
    if (!isText(value)) wrong(here, 'is not a text')
  } else if (shape === 'texts') {
    if (!Array.isArray(value) || !value.every(isText)) wrong(here, 'is not a list of texts')
  } else if (shape === 'pairs') {
    if (!isRecord(value) || !Object.values(value).every(isText)) wrong(here, 'is not an object with texts in it')
  } else if (!('fields' in shape) && !('items' in shape)) {
    if (!shape.includes(value as string)) wrong(here, `is none of ${shape.join(', ')}`)
  } else if ('items' in shape) {
    if (!Array.isArray(value)) wrong(here, 'is not a list')
    for (const [index, item] of (value as unknown[]).entries()) walk(item, shape.items, below(index), wrong)
  } else {
    if (!isRecord(value)) return wrong(here, 'is not an object')
    for (const name of shape.needed) if (value[name] === undefined) wrong(below(name), 'is missing')
    for (const [name, item] of Object.entries(value)) {
      const inner = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined
      if (inner === undefined) wrong(below(name), unknownField(name, Object.keys(shape.fields)))
      else walk(item, inner, below(name), wrong)
    }
  }
}

function unknownField(name: string, known: readonly string[]): string {
  const close = nearest(name, known)
  return close === undefined ? `is no field; there are ${known.join(', ')}` : `is no field; did you mean ${close}?`
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

function checkMeaning(profile: AgentProfile, wrong: Wrong): void {
  const { binary, state, credentials, network, login, reads, mcp } = profile
  if (binary.includes('/') && !binary.startsWith('/')) wrong('binary', 'is neither a name nor an absolute path')
  for (const path of reads) if (!/^(?:~)?\/./.test(path)) wrong('reads', 'has a path that begins neither with / nor ~/')
  const isBelow = (path: string): boolean => path.split('/').every((part) => !['', '.', '..'].includes(part))
  for (const [field, files] of Object.entries({ state: state.files, mcp: mcp.files ?? {} }))
    for (const path of Object.keys(files))
      if (!isBelow(path)) wrong(`${field}.files.${path}`, 'is no path below the state directory')
  const { instructions } = state
  if (instructions !== undefined && !isBelow(instructions))
    wrong('state.instructions', 'is no path below the state directory')
  for (const [field, rules] of Object.entries({ network, login })) {
    try {
      parseRules(rules)
    } catch (error) {
      wrong(field, `has a rule that is none: ${(error as Error).message}`)
    }
  }
  for (const [index, { from, broker, file }] of credentials.entries()) {
    const at = `credentials.${index}`
    if ('variable' in from === 'file' in from) wrong(`${at}.from`, 'names neither or both of variable and file')
    if ('file' in from && !/^(?:~)?\/./.test(from.file)) wrong(`${at}.from.file`, 'begins neither with / nor ~/')
    if ((broker === undefined) === (file === undefined)) wrong(at, 'has neither or both of broker and file')
  }
  const variables = [
    ...Object.keys({ ...profile.env, ...state.env, ...mcp.env }),
    ...credentials.flatMap(({ from, broker, file }) => [
      ...('variable' in from ? [from.variable] : []),
      ...Object.keys({ ...broker?.env, ...broker?.placeholder }),
      ...(file === undefined ? [] : [file.variable]),
    ]),
  ]
  const odd = variables.find((variable) => !variableName.test(variable) || variable.startsWith('AW_'))
  if (odd !== undefined) wrong(JSON.stringify(odd.slice(0, 80)), 'cannot be the name of a variable')
}
