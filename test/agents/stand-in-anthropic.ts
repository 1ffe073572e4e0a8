import { events, json, type Dialect, type Turn } from './stand-in.ts'

interface Message {
  readonly content: string | readonly { readonly type: string }[]
}

const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** The Messages API, as Claude Code and OpenCode speak it: at once or as a stream. */
export const anthropic: Dialect = {
  answer({ method, path, body }, turnAt) {
    const { pathname } = new URL(path, 'http://stand-in')
    if (method === 'HEAD' && pathname === '/') return json({})
    if (pathname === '/v1/messages/count_tokens') return json({ input_tokens: 1 })
    if (pathname !== '/v1/messages') return undefined
    // Side questions, as for a title, come without tools.
    const tools = (body['tools'] as unknown[] | undefined) ?? []
    const turn = tools.length === 0 ? { text: 'done' } : turnAt(answered(body['messages'] as Message[]))
    return body['stream'] === true ? streamed(String(body['model']), turn) : json(whole(String(body['model']), turn))
  },
}

const answered = (messages: readonly Message[]): number =>
  messages
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .filter(({ type }) => type === 'tool_result').length

const stopOf = (turn: Turn): string => ('text' in turn ? 'end_turn' : 'tool_use')

const blockOf = (turn: Turn) =>
  'text' in turn
    ? { type: 'text', text: turn.text }
    : { type: 'tool_use', id: `toolu_${Math.random().toString(36).slice(2)}`, name: turn.tool, input: turn.input }

const whole = (model: string, turn: Turn) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model,
  content: [blockOf(turn)],
  stop_reason: stopOf(turn),
  stop_sequence: null,
  usage,
})

function streamed(model: string, turn: Turn) {
  const block = blockOf(turn)
  const all = [
    { type: 'message_start', message: { ...whole(model, turn), content: [], stop_reason: null } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: 'text' in block ? { type: 'text', text: '' } : { ...block, input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta:
        'text' in block
          ? { type: 'text_delta', text: block.text }
          : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stopOf(turn), stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  return events(all.map((data) => ({ event: data.type, data })))
}
