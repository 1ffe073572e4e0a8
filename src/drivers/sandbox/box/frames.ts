import { AwError } from '../../../domain/errors.ts'

/**
 * The frames between us and the supervisor of a box; see docs/spec/box-protocol.md. What comes in is not trusted: it is
 * bounded, and anything malformed is an error that ends the connection.
 */

export const maxFrameBytes = 4 * 1024 * 1024
const headBytes = 4
/** Type and id. */
const fixedBytes = 5

export const request = {
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
} as const

export const answer = {
  ready: 64,
  stdout: 65,
  stderr: 66,
  exit: 67,
  ok: 68,
  err: 69,
  started: 70,
  taken: 71,
} as const

export interface Frame {
  readonly type: number
  readonly id: number
  readonly payload: Buffer
}

const nothing = Buffer.alloc(0)

/** One frame as bytes. `invalid_input` if it would be longer than a frame may be. */
export function encodeFrame(type: number, id: number, payload: Uint8Array = nothing): Buffer {
  const length = fixedBytes + payload.length
  if (length > maxFrameBytes) {
    throw new AwError('invalid_input', `A message to a sandbox holds at most ${maxFrameBytes} bytes, not ${length}`, {
      hint: 'Put large content into a file of the workspace, or send it as input',
    })
  }
  const frame = Buffer.allocUnsafe(headBytes + length)
  frame.writeUInt32LE(length, 0)
  frame.writeUInt8(type, 4)
  frame.writeUInt32LE(id, 5)
  frame.set(payload, headBytes + fixedBytes)
  return frame
}

/**
 * Cuts a stream of bytes into frames, however it arrives. A length that no frame has throws before anything of it is
 * kept; after that the stream is worth nothing any more.
 */
export function frameReader(): (chunk: Buffer) => Frame[] {
  let kept: Buffer[] = []
  let keptBytes = 0
  let wanted = headBytes

  return (chunk) => {
    kept.push(chunk)
    keptBytes += chunk.length
    // Most chunks are the next part of a long frame: they are not copied together until it is whole.
    if (keptBytes < wanted) return []
    let bytes = kept.length === 1 ? chunk : Buffer.concat(kept, keptBytes)
    const frames: Frame[] = []
    for (;;) {
      wanted = headBytes
      if (bytes.length < headBytes) break
      wanted = headBytes + lengthOf(bytes)
      if (bytes.length < wanted) break
      frames.push({ type: bytes.readUInt8(4), id: bytes.readUInt32LE(5), payload: bytes.subarray(9, wanted) })
      bytes = bytes.subarray(wanted)
    }
    kept = bytes.length === 0 ? [] : [bytes]
    keptBytes = bytes.length
    return frames
  }
}

function lengthOf(bytes: Buffer): number {
  const length = bytes.readUInt32LE(0)
  if (length >= fixedBytes && length <= maxFrameBytes) return length
  throw malformed(`a frame of ${length} bytes`)
}

// -- tagged strings --------------------------------------------------------------------------------------------------

export type Tag = readonly [tag: string, value: string | number]

/** Strings with a tag each, in order. `invalid_input` for a value with a NUL byte: it would be cut there. */
export function encodeTags(tags: readonly Tag[]): Buffer {
  return Buffer.from(tags.map(([tag, value]) => `${tag}${withoutNul(String(value))}\0`).join(''))
}

function withoutNul(value: string): string {
  if (!value.includes('\0')) return value
  throw new AwError('invalid_input', 'Arguments, variables and paths cannot hold a NUL byte')
}

/** The values by their tag. Text that is not UTF-8 arrives with replacement characters. */
export function decodeTags(payload: Buffer): ReadonlyMap<string, readonly string[]> {
  const tags = new Map<string, string[]>()
  if (payload.length > 0 && payload.at(-1) !== 0) throw malformed('a string without an end')
  for (let start = 0; start < payload.length;) {
    const end = payload.indexOf(0, start)
    if (end === start) throw malformed('a string without a tag')
    const tag = String.fromCharCode(payload[start] ?? 0)
    const values = tags.get(tag) ?? []
    values.push(payload.toString('utf8', start + 1, end))
    tags.set(tag, values)
    start = end + 1
  }
  return tags
}

/** A number that a tag must have: whole, not negative, and one that can be counted with. */
export function numberTag(tags: ReadonlyMap<string, readonly string[]>, tag: string): number {
  const text = tags.get(tag)?.[0] ?? ''
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw malformed(`${JSON.stringify(tag)} is not a number`)
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function readUint32(payload: Buffer): number {
  if (payload.length < 4) throw malformed('a number without its bytes')
  return payload.readUInt32LE(0)
}

/** `ERR`: what the kernel said, and about what. */
export function readFailure(payload: Buffer): { errno: number; text: string } {
  if (payload.length < 4) throw malformed('a failure without a number')
  return { errno: payload.readInt32LE(0), text: payload.toString('utf8', 4, 4 + 4096) }
}

/** The other side does not keep to the protocol: nothing more is believed of it. */
export const malformed = (what: string): AwError =>
  new AwError('sandbox_gone', `The supervisor of the sandbox sent ${what}, so it was let go of`, {
    hint: 'Stop the sandbox and start it again',
  })
