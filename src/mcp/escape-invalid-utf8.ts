import { isUtf8 } from 'node:buffer'
import { wholeCharacters } from './output.ts'

/**
 * Lines of JSON as they come, with bytes that are not UTF-8 written as halves of surrogate pairs (`\udcff`): in a text,
 * no tool takes that. A reader that put another character in their place could mean another file. After a backslash, which
 * would take such a half for plain text, they are a control character: then the line is no JSON.
 */
export async function* escapeInvalidUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Uint8Array = Buffer.alloc(0)
  let before = 0
  for await (const piece of input) {
    const bytes = Buffer.concat([rest, piece])
    const whole = wholeCharacters(bytes)
    rest = bytes.subarray(whole.length)
    if (whole.length > 0) yield escaped(bytes.subarray(0, whole.length), before)
    before = bytes[whole.length - 1] ?? before
  }
  if (rest.length > 0) yield escaped(Buffer.from(rest), before)
}

const backslash = 0x5c

function escaped(bytes: Buffer, before: number): Buffer {
  if (isUtf8(bytes)) return bytes
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((one) => at + one <= bytes.length && isUtf8(bytes.subarray(at, at + one)))
    const byte = (bytes[at] ?? 0).toString(16)
    const half = (at === 0 ? before : bytes[at - 1]) === backslash ? '\u0001' : String.raw`\udc${byte}`
    parts.push(length === undefined ? Buffer.from(half) : bytes.subarray(at, at + length))
    at += length ?? 1
  }
  return Buffer.concat(parts)
}
