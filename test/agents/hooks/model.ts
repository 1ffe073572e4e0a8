import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { anthropic } from '../stand-in-anthropic.ts'
import type { Turn } from '../stand-in.ts'

export interface Model extends AsyncDisposable {
  readonly url: string
  /** What the tools have answered, each once, in their order. */
  readonly results: () => string[]
}

interface Body {
  readonly messages?: readonly { readonly content: string | readonly Block[] }[]
}

interface Block {
  readonly type: string
  readonly tool_use_id?: string
  readonly content?: unknown
}

/** A model that does what it is told for each conversation, which is known by a word in its first message. */
export async function model(conversations: Readonly<Record<string, readonly Turn[]>>): Promise<Model> {
  const results = new Map<string, string>()
  const server = createServer((request, response) => {
    const { method = '', url: path = '' } = request
    const reply = (body: Body): void => {
      const first = JSON.stringify(body.messages?.[0]?.content ?? '')
      const turns = Object.entries(conversations).find(([word]) => first.includes(word))?.[1] ?? []
      for (const { type, tool_use_id: id = '', content } of blocksOf(body))
        if (type === 'tool_result') results.set(id, typeof content === 'string' ? content : JSON.stringify(content))
      const answer = anthropic.answer({ method, path, body: { ...body } }, (at) => turns[at] ?? { text: 'done' })
      if (answer === undefined) response.writeHead(404).end('{}')
      else response.writeHead(200, { 'content-type': answer.type }).end(answer.text)
    }
    json(request).then(
      (body) => reply(body as Body),
      () => reply({}),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    results: () => [...results.values()],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const blocksOf = ({ messages = [] }: Body): readonly Block[] =>
  messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
