/** The frames of a box as plain bytes, written apart from the code that uses them elsewhere. */
import { connect, type Socket } from 'node:net'

export const type = {
  exec: 1,
  stdin: 2,
  eof: 3,
  signal: 4,
  resize: 5,
  credit: 6,
  connect: 7,
  put: 8,
  status: 9,
  freeze: 10,
  thaw: 11,
  stop: 12,
  ping: 13,
  remove: 15,
  signalKept: 16,
  sizeLimit: 17,
  ready: 64,
  stdout: 65,
  stderr: 66,
  exit: 67,
  ok: 68,
  err: 69,
  started: 70,
  taken: 71,
} as const

export interface RawFrame {
  readonly type: number
  readonly id: number
  readonly payload: Buffer
}

export type Tags = readonly (readonly [string, string | number])[]

export const tags = (list: Tags): Buffer =>
  Buffer.concat(list.map(([name, value]) => Buffer.from(`${name}${value}\0`, 'latin1')))

export function readTags(payload: Buffer): Record<string, string> {
  const strings = payload.toString('latin1').split('\0').slice(0, -1)
  return Object.fromEntries(strings.map((text) => [text.slice(0, 1), text.slice(1)]))
}

export function frame(kind: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt32LE(5 + payload.length, 0)
  head.writeUInt8(kind, 4)
  head.writeUInt32LE(id, 5)
  return Buffer.concat([head, payload])
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value, 0)
  return bytes
}

/** Cuts what comes into frames. */
function splitter(): (chunk: Buffer) => RawFrame[] {
  let held: Buffer = Buffer.alloc(0)
  return (chunk) => {
    held = Buffer.concat([held, chunk])
    const frames: RawFrame[] = []
    while (held.length >= 4 && held.length >= 4 + held.readUInt32LE(0)) {
      const end = 4 + held.readUInt32LE(0)
      frames.push({ type: held.readUInt8(4), id: held.readUInt32LE(5), payload: Buffer.from(held.subarray(9, end)) })
      held = held.subarray(end)
    }
    return frames
  }
}

export interface RawClient {
  readonly socket: Socket
  /** All that came so far. */
  readonly frames: RawFrame[]
  send(kind: number, id: number, payload?: Uint8Array): void
  /** The first frame, also one that came before, that is so; rejects when the connection ends or it takes too long. */
  wait(test: (frame: RawFrame) => boolean): Promise<RawFrame>
  /** The answer of this type to this id. */
  answer(kind: number, id: number): Promise<RawFrame>
  output(id: number, kind?: number): Buffer
  /** When the other side has ended the connection. */
  readonly closed: Promise<void>
}

const patience = 20_000

export async function connectRaw(path: string): Promise<RawClient> {
  const socket = connect(path)
  const client = rawClient(socket)
  await client.answer(type.ready, 0)
  return client
}

export function rawClient(socket: Socket): RawClient {
  const frames: RawFrame[] = []
  const cut = splitter()
  const waiters = new Set<() => void>()
  let ended = false
  const wake = (): void => {
    for (const waiter of waiters) waiter()
  }
  socket.on('data', (chunk: Buffer) => {
    frames.push(...cut(chunk))
    wake()
  })
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined)
    socket.on('close', () => {
      ended = true
      wake()
      resolve()
    })
  })
  const wait = (test: (frame: RawFrame) => boolean): Promise<RawFrame> =>
    new Promise((resolve, reject) => {
      let seen = 0
      const finish = (act: () => void): void => {
        waiters.delete(look)
        clearTimeout(late)
        act()
      }
      const look = (): void => {
        const hit = frames.slice(seen).find(test)
        seen = frames.length
        if (hit) finish(() => resolve(hit))
        else if (ended) finish(() => reject(new Error('The connection has ended')))
      }
      const late = setTimeout(() => finish(() => reject(new Error(`Nothing came: ${describe(frames)}`))), patience)
      waiters.add(look)
      look()
    })
  return {
    socket,
    frames,
    closed,
    wait,
    send: (kind, id, payload) => socket.write(frame(kind, id, payload)),
    answer: async (kind, id) => {
      const found = await wait((it) => it.id === id && (it.type === kind || it.type === type.err))
      if (found.type === type.err && kind !== type.err) {
        throw Object.assign(new Error(found.payload.toString('utf8', 4)), { errno: found.payload.readInt32LE(0) })
      }
      return found
    },
    output: (id, kind = type.stdout) =>
      Buffer.concat(frames.filter((it) => it.id === id && it.type === kind).map(({ payload }) => payload)),
  }
}

const describe = (frames: readonly RawFrame[]): string =>
  frames.map((it) => `${it.type}/${it.id}/${it.payload.length}`).join(' ')
