import type { IncomingMessage, ServerResponse } from 'node:http'

/** Between Node's requests and those of the web, which the SDK speaks. */

/** All but the body. */
export function webRequest(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    for (const one of [value].flat()) headers.append(name, one)
  }
  const url = new URL(req.url ?? '/', 'http://localhost')
  return new Request(url, { method: req.method ?? 'GET', headers, signal })
}

/** The whole body, or undefined if it is larger than allowed; what follows then is not read. */
export async function bodyOf(
  req: IncomingMessage,
  mostBytes: number,
  held?: { take(bytes: number): void },
): Promise<Buffer | undefined> {
  const announced = Number(req.headers['content-length'] ?? 0)
  if (announced > mostBytes) return undefined
  held?.take(announced)
  const parts: Buffer[] = []
  let bytes = 0
  // The answer that says so goes over the same connection, so that it must not end here.
  for await (const part of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > mostBytes) return undefined
    if (bytes > announced) held?.take(part.length)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Writes an answer as fast as it is read. Whoever does not read any more ends it. */
export async function send(response: Response, res: ServerResponse): Promise<void> {
  if (res.destroyed) return void response.body?.cancel()
  res.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) return void res.end()
  // A client waits for the head of a stream that has nothing to say yet.
  res.flushHeaders()
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const closed = new Promise<void>((resolve) => {
    res.once('close', () => {
      resolve()
      reader.cancel().catch(() => undefined)
    })
  })
  for (;;) {
    const { done, value } = await reader.read()
    if (done || res.destroyed) break
    if (!res.write(value)) await Promise.race([drained(res), closed])
  }
  res.end()
}

const drained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    res.once('drain', resolve)
  })
