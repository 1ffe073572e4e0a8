import { AwError } from '../domain/errors.ts'
import type { CallContext } from '../ports/manager.ts'

const known = ['actor', 'correlationId', 'causationId', 'signal', 'lease', 'input', 'onProgress'] as const
const longest = 200

/** Who asks and why goes into every event of a call, for good: it is checked as its input is. */
export function checkedContext(context: unknown): CallContext | undefined {
  if (context === undefined) return undefined
  if (typeof context !== 'object' || context === null || Array.isArray(context)) throw wrong('it', 'an object')
  const { actor, correlationId, causationId, signal, lease, input, onProgress, ...rest } = context as Record<
    (typeof known)[number],
    unknown
  >
  for (const [name, value] of Object.entries({ actor, correlationId, causationId, lease })) {
    if (value !== undefined && !isLine(value)) throw wrong(name, `text of 1 to ${longest} characters on one line`)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrong('signal', 'an AbortSignal')
  if (input !== undefined && !(typeof input === 'object' && input !== null && Symbol.asyncIterator in input))
    throw wrong('input', 'an async iterable')
  if (onProgress !== undefined && typeof onProgress !== 'function') throw wrong('onProgress', 'a function')
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw wrong(unknown.slice(0, 60), `left out; known are ${known.join(', ')}`)
  return context
}

const isLine = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.length > 0 &&
  value.length <= longest &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value)

const wrong = (field: string, expected: string): AwError =>
  new AwError('invalid_input', `The context of the call: ${field} must be ${expected}`, {
    data: { field: `context.${field}` },
  })
