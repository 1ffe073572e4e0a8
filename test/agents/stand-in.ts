import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropic } from './stand-in-anthropic.ts'
import { gemini } from './stand-in-gemini.ts'
import { openai } from './stand-in-openai.ts'

/** What the model would say next: it calls a tool, or it is done. */
export type Turn =
  | { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly text: string }

export type TurnsByText = Readonly<Record<string, readonly Turn[]>>

/** How one vendor's API is spoken: which turn a request asks for, and how the turn is written down. */
export interface Dialect {
  /** Undefined if the request is none of it. */
  answer(request: ApiRequest, turnAt: (answered: number) => Turn): Answer | undefined
}

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Answer {
  readonly type: 'text/event-stream' | 'application/json'
  readonly text: string
}

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export interface StandIn extends AsyncDisposable {
  readonly url: string
  /** All that came, the first first. */
  readonly seen: readonly Seen[]
}

/**
 * The APIs of the models that agents talk to, on loopback, with answers that are known beforehand. Which turn is next is
 * told by how many results of tools the request has, so that several agents can talk to it at once. Those that are asked
 * for different things get the answers of the first text that is in what they were asked.
 */
export async function standIn(turns: readonly Turn[] | TurnsByText): Promise<StandIn> {
  const seen: Seen[] = []
  const conversations = Object.entries(isList(turns) ? { '': turns } : turns)
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const body = await bodyOf(request)
    seen.push({ method, path: url, headers, body })
    const [, chosen = []] = conversations.find(([text]) => body.includes(text)) ?? []
    reply({ method, path: url, body: parsed(body) }, (answered) => chosen[answered] ?? { text: 'done' }, response)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: Error) => response.destroy(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const isList = (turns: readonly Turn[] | TurnsByText): turns is readonly Turn[] => Array.isArray(turns)

function reply(request: ApiRequest, turnAt: (answered: number) => Turn, response: ServerResponse): void {
  for (const dialect of [anthropic, openai, gemini]) {
    const answer = dialect.answer(request, turnAt)
    if (answer === undefined) continue
    response.writeHead(200, { 'content-type': answer.type }).end(answer.text)
    return
  }
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not in this stand-in"}}')
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function parsed(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Server-sent events; without a name, only the data. */
export const events = (all: readonly { readonly event?: string; readonly data: unknown }[]): Answer => ({
  type: 'text/event-stream',
  text: all
    .map(({ event, data }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
    .join(''),
})

export const json = (data: unknown): Answer => ({ type: 'application/json', text: JSON.stringify(data) })
