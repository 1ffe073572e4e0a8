/** What a repository has in its index, the file in which git notes what it tracks; versions 2 to 4. */
export interface GitIndex {
  readonly entries: readonly IndexEntry[]
  /** The id of the shared index that it adds to, if it is a split one. */
  readonly base: string | undefined
}

export interface IndexEntry {
  readonly mode: number
  readonly size: number
  /** Bytes, one character each (latin1). */
  readonly path: string
}

export const submoduleMode = 0o160000

/** Undefined if it is none. @param widths of the ids that may be in it, in bytes: nothing in the file tells */
export function parseIndex(index: Buffer, widths: readonly number[] = [20, 32]): GitIndex | undefined {
  for (const width of widths) {
    try {
      const parsed = parse(index, width)
      if (parsed !== undefined) return parsed
    } catch (error) {
      // It ends too early.
      if (!(error instanceof RangeError)) throw error
    }
  }
  return undefined
}

const extended = 0x4000
const lengthMask = 0xfff
/** No file has a longer path; in version 4 each could be longer than the one before it. */
const longestPath = 4096

function parse(index: Buffer, width: number): GitIndex | undefined {
  const version = index.readUInt32BE(4)
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4) return undefined
  const entries: IndexEntry[] = []
  let before = ''
  let at = 12
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flags = index.readUInt16BE(at + 40 + width)
    let start = at + 40 + width + (flags & extended ? 4 : 2)
    let kept = ''
    if (version === 4) {
      const [dropped, behind] = variableLength(index, start)
      kept = before.slice(0, before.length - dropped)
      start = behind
    }
    const end = index.indexOf(0, start)
    const path = kept + index.toString('latin1', start, end)
    if (end < 0 || path.length > longestPath || Math.min(path.length, lengthMask) !== (flags & lengthMask))
      return undefined
    entries.push({ mode: index.readUInt32BE(at + 24), size: index.readUInt32BE(at + 36), path })
    at = version === 4 ? end + 1 : at + Math.ceil((end + 1 - at) / 8) * 8
    before = path
  }
  const extensions = extensionsOf(index, at, index.length - width)
  return extensions && { entries, base: extensions.get('link')?.toString('hex', 0, width) }
}

/** As git writes lengths: seven bits a byte, the highest first, and each continued one is one more. */
function variableLength(index: Buffer, from: number): [value: number, behind: number] {
  let at = from
  let byte = index.readUInt8(at++)
  let value = byte & 127
  while (byte & 128) {
    byte = index.readUInt8(at++)
    value = (value + 1) * 128 + (byte & 127)
  }
  return [value, at]
}

/** Undefined if they do not end where the hash of the whole begins. */
function extensionsOf(index: Buffer, from: number, end: number): Map<string, Buffer> | undefined {
  const found = new Map<string, Buffer>()
  let at = from
  while (at < end) {
    const size = index.readUInt32BE(at + 4)
    found.set(index.toString('latin1', at, at + 4), index.subarray(at + 8, at + 8 + size))
    at += 8 + size
  }
  return at === end ? found : undefined
}
