import { once } from 'node:events'
import type { Outputs } from '../api/table.ts'
import { commonHeaders } from './answer.ts'
import { callOf, itemsOf, type Call } from './call.ts'
import { Refusal } from './refusal.ts'

type Piece = Outputs['fs download']

interface Range {
  readonly offset: number
  readonly length: number
  readonly size: number
}

/** The bytes of a file as they are. `Range` asks for a part of it, as `offset` and `length` do. */
export async function sendFile(call: Call): Promise<void> {
  const range = await rangeOf(call)
  const part = range === undefined ? {} : { offset: range.offset, length: range.length }
  const asked = { ...call, input: { ...call.input, ...part } }
  if (call.operation.gives === 'bytes') return sendPieces(call, range, itemsOf(asked) as AsyncIterable<Piece>)
  const { response } = call
  const bytes = (await callOf(asked)).value as Uint8Array
  response.writeHead(range === undefined ? 200 : 206, { ...headersOf(range), 'Content-Length': bytes.length })
  response.end(bytes)
}

/** As it is read, from one open file; a reader that is slow makes the next piece wait. */
async function sendPieces({ input, response, stop }: Call, range: Range | undefined, pieces: AsyncIterable<Piece>) {
  for await (const { size, mtime, data } of pieces) {
    if (!response.headersSent) {
      const left = Math.max(0, size - ((input as { offset?: number }).offset ?? 0))
      const length = range?.length ?? Math.min(left, (input as { length?: number }).length ?? left)
      response.writeHead(range === undefined ? 200 : 206, {
        ...headersOf(range),
        'Content-Length': length,
        'Aw-File-Size': size,
        'Aw-File-Mtime': mtime,
      })
    }
    const isRead = response.write(data)
    if (response.destroyed) return
    if (!isRead) await once(response, 'drain', { signal: stop.signal })
  }
  response.end()
}

const headersOf = (range: Range | undefined) => ({
  ...commonHeaders,
  'Content-Type': 'application/octet-stream',
  'Accept-Ranges': 'bytes',
  ...(range && { 'Content-Range': `bytes ${range.offset}-${range.offset + range.length - 1}/${range.size}` }),
})

/** One range: several at once, other units and what is no range are answered with the whole, as the standard says. */
async function rangeOf({ request, manager, input, context }: Call): Promise<Range | undefined> {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(request.headers.range ?? '') ?? []
  const isBackwards = from !== '' && to !== '' && Number(to) < Number(from)
  if ((from === '' && to === '') || isBackwards) return undefined
  const { id, path, absolute } = input as { id: string; path: string; absolute?: never }
  const { size } = await manager.call('fs stat', { id, path, absolute }, context)
  const offset = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1)
  if (offset < end) return { offset, length: end - offset, size }
  throw new Refusal(416, 'invalid_input', 'The file has no such range', undefined, {
    'Content-Range': `bytes */${size}`,
  })
}
