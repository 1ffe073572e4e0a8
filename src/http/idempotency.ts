import { createHash } from 'node:crypto'
import type { Operation } from '../api/operation.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { IdempotencyStore, RequestNote, StoredAnswer } from '../ports/idempotency-store.ts'
import type { Manager } from '../ports/manager.ts'
import type { CommandInput } from '../ports/sandbox-driver.ts'
import { jsonText } from './answer.ts'
import { callOf, type Answer, type Call } from './call.ts'
import { Refusal } from './refusal.ts'

/**
 * An answer that holds a secret is kept nowhere, and one that comes bit by bit cannot be, unless nobody waits for its
 * end: then it is short.
 */
export const acceptsIdempotencyKey = ({ kind, form, secret, input }: Operation): boolean =>
  kind !== 'read' && secret !== true && (form !== 'stream' || input.properties?.['detach'] !== undefined)

/** Whoever sends a key relies on it: what cannot be held to it is refused, before anything is done. */
export function assertRepeatable(operation: Operation, input: Readonly<Record<string, unknown>>): void {
  const { name, form, secret, kind } = operation
  if (kind === 'read') return
  if (!acceptsIdempotencyKey(operation)) {
    const hint =
      secret === true ? 'Leave it out' : 'Leave it out; a command that is to be done once is a run with detach'
    throw new Refusal(400, 'invalid_input', `${name} takes no idempotency key`, hint)
  }
  if (form !== 'stream' || input['detach'] === true) return
  const hint = 'Send detach: true; what it writes is then in its logs, and wait tells how it ended'
  throw new Refusal(400, 'invalid_input', `${name} takes an idempotency key only with detach`, hint)
}

/** The key is the caller's own; what stands for the same request is the operation and its input. */
export function requestNote({ operation, input, context: { correlationId } }: Call): RequestNote {
  const print = createHash('sha256')
    .update(`${operation.name}\n${jsonText(input)}`)
    .digest('hex')
  return { print, correlationId }
}

export interface IdempotencyParts {
  readonly answers: IdempotencyStore
  /** The core itself, whose log is asked: what the caller may see of it is not all there is. */
  readonly manager: Manager
}

/**
 * Does a request once, however often it is sent with the same key. An answer is given again; one that was refused or
 * undone is not kept, so that it can be tried again.
 */
export function idempotentCalls({ answers, manager }: IdempotencyParts) {
  /** Being done right now. One process at a time has the answers, so no other does it. */
  const doing = new Map<string, RequestNote>()

  return async (call: Call, key: string, note: RequestNote): Promise<{ answer: Answer; replayed: boolean }> => {
    const first = doing.get(key)
    if (first !== undefined) throw inProgressConflict(first, note)
    doing.set(key, note)
    try {
      const content = contentOf(call)
      const kept = await begin(call, key, note)
      if (kept !== undefined) {
        if (kept.content !== undefined && kept.content !== (await content.print())) throw keyReused()
        return { answer: answerOf(kept), replayed: true }
      }
      const context = { ...call.context, ...(call.context.input && { input: content.pieces() }) }
      const answer = await callOf({ ...call, context }).catch(async (error: unknown) => {
        await answers.forget(key)
        throw toAwError(error)
      })
      const print = call.operation.takes === 'bytes' ? { content: await content.print() } : {}
      // If it cannot be kept, the key stays taken: better than that it is done twice.
      await answers.finish(key, { status: answer.status, body: jsonText(answer.value), ...print })
      return { answer, replayed: false }
    } finally {
      doing.delete(key)
    }
  }

  async function begin(call: Call, key: string, note: RequestNote): Promise<StoredAnswer | undefined> {
    const begun = await answers.begin(key, note)
    if (begun.state === 'new') return undefined
    assertSame(begun.note, note)
    if (begun.state === 'done') return begun.answer
    // Whoever did it is gone. If the log has nothing of it, nothing was done.
    await assertNothingCame(manager, call, begun.note)
    await answers.forget(key)
    await answers.begin(key, note)
    return undefined
  }
}

function inProgressConflict(first: RequestNote, note: RequestNote): Refusal {
  assertSame(first, note)
  const message = 'The same request is being done right now'
  return new Refusal(409, 'idempotency_conflict', message, 'Ask again in a moment', { 'Retry-After': '1' })
}

function assertSame(before: RequestNote, now: RequestNote): void {
  if (before.print !== now.print) throw keyReused()
}

const keyReused = (): AwError =>
  new AwError('idempotency_conflict', 'This idempotency key was used for another request', {
    hint: 'Take a new key for each request',
  })

/** The bytes that come with a request, and what they come to when all are read. */
function contentOf({ context: { input } }: Call) {
  const sum = createHash('sha256')
  async function* pieces(): AsyncGenerator<CommandInput> {
    for await (const piece of input ?? []) {
      if (piece.kind === 'data') sum.update(piece.data)
      yield piece
    }
  }
  return {
    pieces,
    async print(): Promise<string> {
      for await (const _ of pieces()) continue
      return sum.digest('hex')
    },
  }
}

const answerOf = ({ status, body }: StoredAnswer): Answer => ({ status, value: JSON.parse(body) as unknown })

async function assertNothingCame(manager: Manager, { context }: Call, { correlationId }: RequestNote): Promise<void> {
  const found = manager.stream('events', { correlation: correlationId }, { signal: context.signal })
  for await (const event of found) {
    throw new AwError(
      'idempotency_conflict',
      'The daemon ended while it did this request, and it is not known how far it came',
      {
        hint: `See what the log has of it: aw events --correlation ${correlationId}`,
        data: { correlation_id: correlationId, workspace: event.stream },
      },
    )
  }
}
