import { AwError } from '../errors.ts'
import type { AnyEvent, EventType } from '../log/event.ts'
import { nearest } from '../text/nearest.ts'
import type { TemplateSetup } from './template-setup.ts'
import type { Source } from '../workspace/state.ts'

/** One state of a named tree that workspaces are made from. */
export interface Template extends TemplateFacts {
  readonly name: string
  readonly version: number
  readonly created_at: string
}

export interface TemplateFacts {
  base: string
  profile: string
  description: string
  source: Source
  /** What may be filled in, and what stands there if nobody says; null: somebody must. */
  variables: Readonly<Record<string, string | null>>
  /** The files in which one of them occurs. */
  files: readonly string[]
  /** What was run in it before it was frozen. */
  setup: TemplateSetup | null
}

export const templateEventTypes = ['template_saved', 'template_removed'] as const satisfies EventType[]

/** The versions of each template that are there, oldest first. */
export function foldTemplates(events: Iterable<AnyEvent>): Map<string, Template[]> {
  const templates = new Map<string, Template[]>()
  for (const event of events) {
    if (event.type === 'template_saved') {
      const { name, version, ...facts } = event.data
      const others = templates.get(name)?.filter((one) => one.version !== version) ?? []
      templates.set(name, [...others, { name, version, created_at: event.at, ...facts }])
    }
    if (event.type === 'template_removed') {
      const { name, version } = event.data
      const left = version === null ? [] : (templates.get(name) ?? []).filter((one) => one.version !== version)
      if (left.length === 0) templates.delete(name)
      else templates.set(name, left)
    }
  }
  return templates
}

/** `name`, which is its newest version, or `name@3`. */
export function findTemplate(templates: ReadonlyMap<string, readonly Template[]>, ref: string): Template {
  const [name = '', version] = ref.split('@')
  const versions = templates.get(name)
  const found = version === undefined ? versions?.at(-1) : versions?.find((one) => String(one.version) === version)
  if (found !== undefined) return found
  const close = nearest(name, [...templates.keys()])
  const known = versions?.map((one) => one.version).join(', ')
  throw new AwError(
    'template_not_found',
    versions === undefined ? `There is no template ${JSON.stringify(name)}` : `${name} has no version ${version}`,
    {
      hint: known ? `It has: ${known}` : close === undefined ? 'See them: aw template list' : `Did you mean ${close}?`,
      data: { template: ref },
    },
  )
}

const variablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/

/** `author=Ann` has a default, `author=` or `author` has none. */
export function checkedVariables(given: Readonly<Record<string, string>>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (variablePattern.test(name)) return [name, value === '' ? null : value]
      throw new AwError('invalid_input', `${JSON.stringify(name.slice(0, 100))} is no name for a variable`, {
        hint: 'Letters, digits and underscores, the first no digit',
        data: { field: 'variables' },
      })
    }),
  )
}

/** What each variable is, for one workspace. */
export function variableValues({ name, variables }: Template, given: Readonly<Record<string, string>>) {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(variables, key))
  if (unknown !== undefined)
    throw new AwError('invalid_input', `The template ${name} has no variable ${JSON.stringify(unknown)}`, {
      hint: `It has: ${Object.keys(variables).join(', ') || 'none'}`,
      data: { field: 'variables', known: Object.keys(variables) },
    })
  const filled = Object.entries({ ...variables, ...given })
  const missing = filled.filter(([, value]) => value === null).map(([key]) => key)
  if (missing.length > 0)
    throw new AwError('invalid_input', `The template ${name} needs to know: ${missing.join(', ')}`, {
      hint: missing.map((key) => `--var ${key}=…`).join(' '),
      data: { field: 'variables', missing },
    })
  return Object.fromEntries(filled) as Record<string, string>
}

/** Each `{{name}}` of a known variable becomes its value; all else stays, bytes that are no text too. */
export const substitute = (text: string, values: Readonly<Record<string, string | null>>): string =>
  text.replace(/\{\{ ?([A-Za-z_][A-Za-z0-9_]*) ?\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? whole) : whole,
  )
