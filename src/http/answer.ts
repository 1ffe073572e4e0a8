import type { ServerResponse } from 'node:http'
import { toAwError } from '../domain/errors.ts'
import { problemOf, Refusal, statusOf } from './refusal.ts'

/** Headers of every answer: nothing of it is to be kept, guessed at or framed by a browser. */
export const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
} as const

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.end(begin(response, status, value, headers))
}

function begin(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>>,
): string {
  const text = `${jsonText(value)}\n`
  const length = Buffer.byteLength(text)
  response.writeHead(status, {
    ...commonHeaders,
    'Content-Type': 'application/json',
    'Content-Length': length,
    ...headers,
  })
  return text
}

/** Once an answer has begun it can only be broken off: then the caller sees that it is not whole. */
export function sendProblem(response: ServerResponse, error: unknown, requestId: string): void {
  const known = toAwError(error)
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const isRead = response.req.complete
  const headers = { ...(known instanceof Refusal && known.headers), 'Content-Type': 'application/problem+json' }
  const problem = problemOf(known, requestId)
  if (isRead) return sendJson(response, statusOf(known), problem, headers)
  // What is left of a body that nobody reads would be taken for the next request.
  const text = begin(response, statusOf(known), problem, { ...headers, Connection: 'close' })
  response.write(text)
  return lingering(response)
}

/** To close while something still comes in would throw away what was sent, before it is read. */
function lingering(response: ServerResponse): void {
  const end = (): void => void response.end()
  const late = setTimeout(end, lingerMs)
  response.req.resume()
  response.req.once('close', () => {
    clearTimeout(late)
    end()
  })
}

const lingerMs = 1000

/** Bytes are base64 in JSON. Done before `JSON.stringify` sees them: it would ask a Buffer for a list of numbers. */
export function jsonText(value: unknown): string {
  return JSON.stringify(withText(value)) ?? 'null'
}

function withText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')
  if (!hasBytes(value)) return value
  if (Array.isArray(value)) return value.map(withText)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withText(inner)]))
}

const hasBytes = (value: object): boolean =>
  value instanceof Uint8Array ||
  Object.values(value).some((inner) => typeof inner === 'object' && inner !== null && hasBytes(inner as object))
