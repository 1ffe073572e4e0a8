import { events, json, type Dialect, type Turn } from './stand-in.ts'

/** The Responses API, as Codex speaks it. */
export const openai: Dialect = {
  answer({ path, body }, turnAt) {
    const { pathname } = new URL(path, 'http://stand-in')
    if (pathname.endsWith('/models')) return json({ object: 'list', data: [], models: [] })
    if (!pathname.endsWith('/responses')) return undefined
    const input = (body['input'] ?? []) as { type: string }[]
    const tools = (body['tools'] as unknown[] | undefined) ?? []
    const answered = input.filter(({ type }) => type.endsWith('_call_output')).length
    return streamed(tools.length === 0 ? { text: 'done' } : turnAt(answered))
  },
}

const itemOf = (turn: Turn) =>
  'text' in turn
    ? { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: turn.text }] }
    : {
        type: 'function_call',
        id: 'fc_1',
        call_id: `call_${Math.random().toString(36).slice(2)}`,
        name: turn.tool,
        arguments: JSON.stringify(turn.input),
      }

function streamed(turn: Turn) {
  const item = itemOf(turn)
  const usage = {
    input_tokens: 1,
    input_tokens_details: null,
    output_tokens: 1,
    output_tokens_details: null,
    total_tokens: 2,
  }
  const all = [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
  ]
  return events(all.map((data) => ({ event: data.type, data })))
}
