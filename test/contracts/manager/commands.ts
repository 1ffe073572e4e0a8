import type { Inputs, Outputs } from '../../../src/api/table.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import type { CallContext, Manager } from '../../../src/ports/manager.ts'
import type { CommandInput } from '../../../src/ports/sandbox-driver.ts'

type Item = Outputs['exec']

export interface Ran {
  readonly items: Item[]
  readonly stdout: string
  readonly stderr: string
  readonly exit: Item | undefined
}

/** Runs a command to its end. */
export async function ran(manager: Manager, input: Inputs['exec'], context?: CallContext): Promise<Ran> {
  const items: Item[] = []
  for await (const item of manager.stream('exec', input, context)) items.push(item)
  const written = (stream: 'stdout' | 'stderr'): string =>
    Buffer.concat(
      items.flatMap(({ type, data }) => (type === stream ? [Buffer.from((data ?? '') as Uint8Array)] : [])),
    ).toString()
  return {
    items,
    stdout: written('stdout'),
    stderr: written('stderr'),
    exit: items.find(({ type }) => type === 'exit'),
  }
}

/** The items of a command that is cancelled at the first one; it has to end with `aborted`. */
export async function* aborting<T>(items: AsyncIterable<T>, stop: AbortController): AsyncGenerator<T> {
  try {
    for await (const item of items) {
      stop.abort()
      yield item
    }
  } catch (error) {
    if (toAwError(error).code === 'aborted') return
    throw error
  }
  throw new Error('It ended as if it had not been cancelled')
}

export async function* given(...texts: string[]): AsyncGenerator<CommandInput> {
  for (const part of texts) yield { kind: 'data', data: Buffer.from(part) }
}

/** What `env` prints. */
export const variables = (printed: string): Record<string, string> =>
  Object.fromEntries(
    printed
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

export async function eventsOf(manager: Manager, workspace: string): Promise<Outputs['events'][]> {
  const events: Outputs['events'][] = []
  for await (const event of manager.stream('events', { workspace })) events.push(event)
  return events
}
