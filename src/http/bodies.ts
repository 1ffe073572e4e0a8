import type { IncomingMessage } from 'node:http'
import type { Operation } from '../api/operation.ts'
import type { CommandInput } from '../ports/sandbox-driver.ts'
import { arriving, assertType, hasBody, jsonBody, tooLarge, typeOf, wholeBody } from './body.ts'
import { bytesField } from './input.ts'

interface Limits {
  readonly bodyBytes: number
  readonly uploadBytes: number
}

interface Body {
  readonly json?: unknown
  /** Bytes that are taken as they come. */
  readonly input?: AsyncIterable<CommandInput>
}

const raw = 'application/octet-stream'

/** JSON, or for an operation that takes a file's content the content itself. */
export async function bodyOf(request: IncomingMessage, operation: Operation, limits: Limits): Promise<Body> {
  if (operation.takes === 'bytes') {
    // An empty file has the type all the same.
    if (!hasBody(request) && typeOf(request) === '') return {}
    assertType(request, raw)
    return { input: pieces(request, limits.uploadBytes) }
  }
  const field = bytesField(operation)
  if (field === undefined || typeOf(request) !== raw) {
    // In base64, content takes a third more.
    const most = field === undefined ? limits.bodyBytes : Math.ceil(limits.uploadBytes * 1.4)
    return { json: await jsonBody(request, most) }
  }
  assertType(request, raw)
  return { json: { [field]: await wholeBody(request, limits.uploadBytes) } }
}

async function* pieces(request: IncomingMessage, mostBytes: number): AsyncGenerator<CommandInput> {
  let size = 0
  for await (const data of arriving(request)) {
    size += data.length
    if (mostBytes > 0 && size > mostBytes) throw tooLarge(mostBytes)
    yield { kind: 'data', data }
  }
}
