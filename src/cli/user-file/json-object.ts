import { AwError } from '../../domain/errors.ts'
import { memberOf, type JsonNode } from './json-text.ts'

/** The text, which is known to be an object in JSON then. `invalid_config` if it is not. */
export function checkedObject(file: string, text: string): string {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text
  } catch (error) {
    throw invalidConfig(
      file,
      /^\s*(?:\/\/|\/\*)|,\s*\/[/*]/m.test(text) ? 'has comments, which are not JSON' : String(error),
    )
  }
  throw invalidConfig(file, 'does not hold an object')
}

/** A member that stands there once, or not at all; `name` is what the object is called. */
export function uniqueMember(file: string, object: JsonNode, key: string, name: string): JsonNode | undefined {
  if (typeof object.value !== 'object' || object.value === null || Array.isArray(object.value))
    throw invalidConfig(file, `${name} is not an object`)
  if (object.members.filter((member) => member.key === key).length > 1)
    throw invalidConfig(file, `${key} stands there twice`)
  return memberOf(object, key)
}

export const invalidConfig = (file: string, why: string): AwError =>
  new AwError('invalid_config', `${file} cannot be changed: ${why}`, {
    hint: 'Nothing was changed. Mend it first; the program that it belongs to would not read it either',
    data: { file },
  })
