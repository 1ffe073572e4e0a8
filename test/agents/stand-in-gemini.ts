import { events, json, type Dialect, type Turn } from './stand-in.ts'

interface Content {
  readonly parts?: readonly Readonly<Record<string, unknown>>[]
}

/** Google's API for Gemini: at once or as a stream. */
export const gemini: Dialect = {
  answer({ path, body }, turnAt) {
    const { pathname } = new URL(path, 'http://stand-in')
    if (pathname.endsWith(':countTokens')) return json({ totalTokens: 1 })
    const tools = (body['tools'] as unknown[] | undefined) ?? []
    const answered = ((body['contents'] ?? []) as Content[])
      .flatMap(({ parts = [] }) => parts)
      .filter((part) => 'functionResponse' in part).length
    const turn = tools.length === 0 ? { text: 'done' } : turnAt(answered)
    if (pathname.endsWith(':generateContent')) return json(part(turn))
    return pathname.endsWith(':streamGenerateContent') ? events([{ data: part(turn) }]) : undefined
  },
}

const part = (turn: Turn) => ({
  candidates: [
    {
      index: 0,
      finishReason: 'STOP',
      content: {
        role: 'model',
        parts: ['text' in turn ? { text: turn.text } : { functionCall: { name: turn.tool, args: turn.input } }],
      },
    },
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
})
