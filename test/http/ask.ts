import { request, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { owner, type Principal } from '../../src/access/principal.ts'
import type { Served } from '../support/http-manager.ts'

/** The door as anybody who writes bytes to a socket meets it. */

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
  /** The body as JSON. */
  readonly json: Record<string, unknown>
}

export interface Question {
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly json?: unknown
  readonly bytes?: Uint8Array | string
}

/** One request on a connection of its own. */
export function ask(door: Served, method: string, path: string, question: Question = {}): Promise<Answer> {
  const { token = 'admin', json, bytes } = question
  const body = json === undefined ? bytes : JSON.stringify(json)
  const headers = {
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(json !== undefined && { 'content-type': 'application/json' }),
    ...question.headers,
  }
  return new Promise((resolve, reject) => {
    const { address } = door
    const place = 'socket' in address ? { socketPath: address.socket, host: 'localhost' } : address
    const asked = request({ ...place, method, path, headers, agent: false }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => resolve(answerOf(answer.statusCode ?? 0, answer.headers, Buffer.concat(parts))))
    })
    asked.on('error', reject)
    asked.setTimeout(60_000, () => asked.destroy(new Error(`${method} ${path} is not answered`)))
    asked.end(body)
  })
}

const answerOf = (status: number, headers: IncomingHttpHeaders, body: Buffer): Answer => ({
  status,
  headers,
  body,
  text: body.toString('utf8'),
  get json() {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>
  },
})

/**
 * Bytes as they are. Answers all that came until the daemon closed the connection, or until that is enough; the latter for
 * what stays open.
 */
export function raw(door: Served, bytes: string | Uint8Array, enough?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    const socket = dial(door)
    let text = ''
    const end = (): void => {
      clearTimeout(late)
      socket.destroy()
      resolve(text)
    }
    const late = setTimeout(end, 20_000)
    socket.on('data', (part) => {
      text += part.toString('latin1')
      if (enough?.test(text)) end()
    })
    socket.on('error', end)
    socket.on('close', end)
    socket.write(bytes)
  })
}

export function dial(door: Served): Socket {
  const { address } = door
  const socket = 'socket' in address ? connect(address.socket) : connect(address.port, address.host)
  socket.on('error', () => undefined)
  return socket
}

export const lines = (...all: readonly string[]): string => `${all.join('\r\n')}\r\n\r\n`

/** The status of the first answer in what came. */
export const statusIn = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)

export const admin: Principal = { ...owner(0), actor: 'token:tok_admin' }

/** What an agent gets for its workspace. */
export const held = (...workspaces: readonly string[]): Principal => ({
  actor: `token:tok_${workspaces.join('+')}`,
  scopes: ['read', 'fs:read', 'fs:write', 'exec', 'env', 'run', 'snapshot', 'workspace'],
  workspaces,
})

export async function until(what: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  const end = performance.now() + ms
  while (!(await what())) {
    if (performance.now() > end) throw new Error('It did not come to that')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
