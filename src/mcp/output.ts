import { stripVTControlCharacters } from 'node:util'
import { limits } from './limits.ts'

/** What a command wrote, as far as an answer holds it: the beginning and the end. */
export interface BoundedOutput {
  add(data: Uint8Array): void
  /** With a line in the place of what was left out. */
  text(): string
  readonly bytes: number
  readonly omitted: number
}

export function boundedOutput(): BoundedOutput {
  const head: Uint8Array[] = []
  const tail: Uint8Array[] = []
  let headBytes = 0
  let tailBytes = 0
  let bytes = 0
  const omitted = (): number => Math.max(0, bytes - headBytes - Math.min(tailBytes, limits.outputTailBytes))
  return {
    add(data) {
      bytes += data.length
      const first = data.subarray(0, limits.outputHeadBytes - headBytes)
      const rest = data.subarray(first.length)
      if (first.length > 0) head.push(first)
      headBytes += first.length
      if (rest.length === 0) return
      tail.push(rest)
      tailBytes += rest.length
      while (tailBytes - (tail[0]?.length ?? 0) >= limits.outputTailBytes) tailBytes -= tail.shift()?.length ?? 0
    },
    text() {
      const end = Buffer.concat(tail)
      if (omitted() === 0) return decoded(Buffer.concat([...head, end]))
      const kept = end.subarray(end.length - limits.outputTailBytes)
      return `${decoded(Buffer.concat(head))}\n[… ${omitted()} bytes are left out here …]\n${decoded(kept)}`
    },
    get bytes() {
      return bytes
    },
    get omitted() {
      return omitted()
    },
  }
}

/** Both streams of a command; whoever watches is told of each piece. */
export function boundedStreams(onOutput: (data: Uint8Array) => void) {
  const [stdout, stderr] = [boundedOutput(), boundedOutput()]
  return {
    stdout,
    stderr,
    add: (stream: string, piece: Uint8Array | string): void => {
      const data = Buffer.from(piece)
      ;(stream === 'stdout' ? stdout : stderr).add(data)
      onOutput(data)
    },
  }
}

/** Commands may write anything; what is no text has a sign in its place. */
const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** So much of the bytes as ends with a whole character, if they are text. */
export function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes
    if (byte < 0xc0) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

/** The last line that says something, for people who watch. */
export function lastLine(data: Uint8Array): string {
  const text = decoded(data.subarray(-4 * limits.progressCharacters))
  const lines = stripVTControlCharacters(text).split(/[\r\n]+/)
  const line = lines.findLast((one) => one.trim() !== '') ?? ''
  return line
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, limits.progressCharacters)
}
