import { AwError } from '../errors.ts'

export type Values = Readonly<Record<string, string | readonly string[] | undefined>>

/** Arguments with their values. One that mentions a value which is not given is left out; a list becomes its items. */
export const fillArguments = (template: readonly string[], values: Values): string[] =>
  template.flatMap((argument) => {
    const [, only] = /^\{\{\s*([a-z_]+)\s*\}\}$/.exec(argument) ?? []
    const list = only === undefined ? undefined : valueOf(only, values)
    if (typeof list === 'object') return [...list]
    return mentions(argument, values) ? [fillText(argument, values)] : []
  })

/** Variables with their values; those that mention a value which is not given are left out. */
export const fillPairs = (template: Readonly<Record<string, string>>, values: Values): Record<string, string> =>
  Object.fromEntries(
    Object.entries(template).flatMap(([name, text]) =>
      mentions(text, values) ? [[name, fillText(text, values)] as const] : [],
    ),
  )

const placeholder = /\{\{\s*([a-z_]+)\s*\}\}/g

const mentions = (text: string, values: Values): boolean =>
  [...text.matchAll(placeholder)].every(([, name = '']) => valueOf(name, values) !== undefined)

const fillText = (text: string, values: Values): string =>
  text.replaceAll(placeholder, (_, name: string) => {
    const value = valueOf(name, values)
    return typeof value === 'string' ? value : (value ?? []).join(' ')
  })

/** A name that means nothing here is a mistake of whoever wrote the profile, and not a value that is absent. */
function valueOf(name: string, values: Values): string | readonly string[] | undefined {
  if (Object.hasOwn(values, name)) return values[name]
  throw new AwError('invalid_config', `An agent profile uses {{${name}}}, and there is no such value here`, {
    hint: `There are: ${Object.keys(values).toSorted().join(', ')}`,
    data: { name },
  })
}
