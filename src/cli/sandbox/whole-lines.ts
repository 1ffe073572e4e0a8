/** Puts together the lines of several writers, so that those of different ones are never mixed. */
export interface WholeLines {
  /** The lines that are whole now. */
  take(writer: string, data: Uint8Array): Uint8Array[]
  /** The last line of one that writes no more, if it did not end it. */
  rest(writer: string): Uint8Array[]
}

const lineFeed = 10

/** @param most what is held of a line that does not end; a longer one is cut */
export function wholeLines(most = 65_536): WholeLines {
  const held = new Map<string, Uint8Array>()
  return {
    take(writer, data) {
      const lines: Uint8Array[] = []
      let left: Uint8Array = Buffer.concat([held.get(writer) ?? new Uint8Array(), data])
      for (;;) {
        const end = left.indexOf(lineFeed)
        const at = end === -1 && left.length > most ? most : end
        if (at === -1) break
        lines.push(left.subarray(0, at))
        left = left.subarray(end === at ? at + 1 : at)
      }
      held.set(writer, left)
      return lines
    },
    rest(writer) {
      const left = held.get(writer)
      held.delete(writer)
      return left === undefined || left.length === 0 ? [] : [left]
    },
  }
}
