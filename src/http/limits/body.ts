import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Operation } from '../../api/operation.ts'
import { AwError } from '../../domain/errors.ts'
import { readJson, type JsonLimits } from '../../domain/text/strict-json.ts'
import type { CommandInput } from '../../ports/sandbox-driver.ts'
import { restartDeadline, stopDeadline } from './request-deadline.ts'
import type { BodyMemory } from '../body-memory.ts'
import { bytesField } from '../input.ts'
import { Refusal } from '../refusal.ts'

interface Limits {
  readonly bodyBytes: number
  readonly uploadBytes: number
  readonly json: JsonLimits
}

interface Body {
  readonly json?: unknown
  /** Bytes that are taken as they come. */
  readonly input?: AsyncIterable<CommandInput>
}

const raw = 'application/octet-stream'

/** JSON, or for an operation that takes a file's content the content itself. */
export async function bodyOf(
  request: IncomingMessage,
  operation: Operation,
  limits: Limits,
  held: BodyMemory,
): Promise<Body> {
  if (operation.takes === 'bytes') {
    // An empty file has the type all the same.
    if (!hasBody(request) && typeOf(request) === '') return {}
    assertType(request, raw)
    // Until somebody asks for it, as when another works on the workspace, it is us who are waited for.
    stopDeadline(request)
    return { input: pieces(request, limits.uploadBytes) }
  }
  const field = bytesField(operation)
  if (field === undefined || typeOf(request) !== raw) {
    // In base64, content takes a third more.
    const most = field === undefined ? limits.bodyBytes : Math.ceil(limits.uploadBytes * 1.4)
    return { json: await jsonBody(request, most, limits.json, held) }
  }
  assertType(request, raw)
  return { json: { [field]: await wholeBody(request, limits.uploadBytes, held) } }
}

async function* pieces(request: IncomingMessage, mostBytes: number): AsyncGenerator<CommandInput> {
  let size = 0
  restartDeadline(request)
  for await (const data of arriving(request)) {
    size += data.length
    if (size > mostBytes) throw tooLarge(mostBytes)
    stopDeadline(request)
    yield { kind: 'data', data }
    restartDeadline(request)
  }
}

/**
 * The JSON of a request, or undefined if it has no body. Only JSON: a form of somebody else's page cannot send it. It is
 * read whole, so it has a limit that holds whatever Content-Length says; and it is not unpacked.
 */
export async function jsonBody(
  request: IncomingMessage,
  mostBytes: number,
  limits: JsonLimits,
  held: Pick<BodyMemory, 'take'>,
): Promise<unknown> {
  if (!hasBody(request)) return undefined
  assertType(request, 'application/json')
  const bytes = await wholeBody(request, mostBytes, held)
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw new Refusal(400, 'invalid_input', 'The body is not UTF-8')
  return readJson(bytes.toString('utf8'), limits)
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

const typeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

function assertType(request: IncomingMessage, type: string): void {
  const { 'content-encoding': encoding = 'identity', 'transfer-encoding': framing = 'chunked' } = request.headers
  // Packed for the way would be kept as it came, and be another content than was meant.
  if (encoding !== 'identity' || framing.toLowerCase() !== 'chunked')
    throw new Refusal(415, 'invalid_input', 'Packed bodies are not accepted')
  if (typeOf(request) !== type)
    throw new Refusal(415, 'invalid_input', `The body must have the type ${type}`, `Send Content-Type: ${type}`)
}

async function wholeBody(request: IncomingMessage, mostBytes: number, held: Pick<BodyMemory, 'take'>): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > mostBytes) throw tooLarge(mostBytes)
  // What was let in comes to its end: if all were taken as they come, none of many might.
  held.take(announced)
  const parts: Buffer[] = []
  let size = 0
  for await (const part of arriving(request)) {
    size += part.length
    if (size > mostBytes) throw tooLarge(mostBytes)
    if (size > announced) held.take(part.length)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The body as it comes in. That it ends too soon is the caller's doing, and no fault of anybody here. */
async function* arriving(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request as AsyncIterable<Buffer>
  } catch (cause) {
    throw new AwError('aborted', 'The body was broken off', { cause })
  }
  if (!request.complete) throw new AwError('aborted', 'The body was broken off')
}

const tooLarge = (mostBytes: number): Refusal =>
  new Refusal(
    413,
    'invalid_input',
    `The body is larger than ${mostBytes} bytes`,
    'It is a setting: server.body_kb, and for the content of files server.upload_mb',
  )
