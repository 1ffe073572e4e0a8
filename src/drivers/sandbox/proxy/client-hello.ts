/** What the first bytes of a tunnel are. */
export type Hello =
  /** There are too few of them to say. */
  | { readonly kind: 'more' }
  | { readonly kind: 'no_tls' }
  /** It begins as TLS does, and goes on otherwise: somebody may still understand it. */
  | { readonly kind: 'broken' }
  /** The greeting of a client of TLS: whom it asks for, in lower case and without a final dot. */
  | { readonly kind: 'hello'; readonly names: readonly string[] }

/** Reads the greeting of a client of TLS (RFC 8446, 4.1.2), however many records it is cut into. */
export function readHello(bytes: Buffer): Hello {
  if (bytes.length > 0 && bytes[0] !== handshakeRecord) return { kind: 'no_tls' }
  if (bytes.length > 1 && bytes[1] !== majorVersion) return { kind: 'no_tls' }
  const joined = joinRecords(bytes)
  if (joined === undefined) return { kind: 'broken' }
  if (joined.length < headLength) return { kind: 'more' }
  const length = joined.readUIntBE(1, 3)
  if (joined[0] !== clientHello || length > longest) return { kind: 'broken' }
  if (joined.length < headLength + length) return { kind: 'more' }
  try {
    return { kind: 'hello', names: namesIn(reader(joined.subarray(headLength, headLength + length))) }
  } catch {
    return { kind: 'broken' }
  }
}

const handshakeRecord = 22
const majorVersion = 3
const clientHello = 1
const serverName = 0
const headLength = 4
/** Far more than any has, and in more pieces. */
const longest = 16_384
const maxRecords = 64

/** What is in the records so far, the last of which may not be whole; undefined if they are none. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  let at = 0
  while (at + 5 <= bytes.length) {
    if (parts.length >= maxRecords) return undefined
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== handshakeRecord || bytes[at + 1] !== majorVersion || length === 0 || length > 16_384) {
      // What follows the greeting is nothing of ours.
      return parts.length > 0 && isWhole(Buffer.concat(parts)) ? Buffer.concat(parts) : undefined
    }
    parts.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return Buffer.concat(parts)
}

const isWhole = (joined: Buffer): boolean =>
  joined.length >= headLength && joined.length >= headLength + joined.readUIntBE(1, 3)

interface Reader {
  left(): number
  number(bytes: 1 | 2): number
  /** As many bytes as the number before them says. */
  field(bytes: 1 | 2): Buffer
  skip(bytes: number): void
}

/** Throws when there is less than is asked for. */
function reader(bytes: Buffer): Reader {
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError('It is cut off')
    at += length
    return bytes.subarray(at - length, at)
  }
  const number = (length: 1 | 2): number => take(length).readUIntBE(0, length)
  return {
    left: () => bytes.length - at,
    number,
    field: (length) => take(number(length)),
    skip: (length) => void take(length),
  }
}

function namesIn(hello: Reader): string[] {
  // Version and random; the session, what it can encrypt and compress with.
  hello.skip(2 + 32)
  hello.field(1)
  hello.field(2)
  hello.field(1)
  const names: string[] = []
  if (hello.left() === 0) return names
  const extensions = reader(hello.field(2))
  if (hello.left() > 0) throw new RangeError('There is more')
  while (extensions.left() > 0) {
    const type = extensions.number(2)
    const content = extensions.field(2)
    if (type === serverName) names.push(...listedIn(reader(content)))
  }
  return names
}

/** Names of hosts are of kind 0, and there is no other kind. */
function listedIn(extension: Reader): string[] {
  const list = reader(extension.field(2))
  const names: string[] = []
  while (list.left() > 0) {
    if (list.number(1) !== 0) throw new RangeError('It is no host')
    names.push(list.field(2).toString('latin1').toLowerCase().replace(/\.$/, ''))
  }
  return names
}
