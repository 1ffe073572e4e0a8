import { createHash } from 'node:crypto'
import { AwError, toAwError } from '../domain/errors.ts'
import type { Answers, KeptAnswer, RequestNote } from '../ports/answers.ts'
import { jsonText } from './answer.ts'
import { callOf, type Answer, type Call } from './call.ts'
import { Refusal } from './refusal.ts'

/** The key is the caller's own; what stands for the same request is the operation and its input. */
export function noteOf({ operation, input }: Call, correlationId: string, doer: string): RequestNote {
  const print = createHash('sha256')
    .update(`${operation.name}\n${jsonText(input)}`)
    .digest('hex')
  return { print, correlationId, doer }
}

/**
 * Does a request once, however often it is sent with the same key. An answer is given again; one that was refused or
 * undone is not kept, so that it can be tried again.
 */
export async function onceOnly(
  call: Call,
  answers: Answers,
  key: string,
  note: RequestNote,
): Promise<{ answer: Answer; replayed: boolean }> {
  const begun = await answers.begin(key, note)
  if (begun.state !== 'new') {
    if (begun.note.print !== note.print)
      throw new AwError('idempotency_conflict', 'This idempotency key was used for another request', {
        hint: 'Take a new key for each request',
      })
    if (begun.state === 'done') return { answer: answerOf(begun.answer), replayed: true }
    if (begun.note.doer === note.doer)
      throw new Refusal(
        409,
        'idempotency_conflict',
        'The same request is being done right now',
        'Ask again in a moment',
        {
          'Retry-After': '1',
        },
      )
    await assertNothingCame(call, begun.note)
  }
  try {
    const answer = await callOf(call)
    await answers.finish(key, { status: answer.status, body: jsonText(answer.value) })
    return { answer, replayed: false }
  } catch (error) {
    await answers.forget(key)
    throw toAwError(error)
  }
}

const answerOf = ({ status, body }: KeptAnswer): Answer => ({ status, value: JSON.parse(body) as unknown })

/** Whoever did it the first time is gone. If the log has nothing of it, nothing was done. */
async function assertNothingCame({ manager, context }: Call, { correlationId }: RequestNote): Promise<void> {
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
