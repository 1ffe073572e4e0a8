/** What an archive may cost before it is refused. Each is looked at while it is read, never after. */
export interface ArchiveLimits {
  readonly entries: number
  /** Of all files, without holes. */
  readonly bytes: number
  readonly pathBytes: number
  /** How many names a path may have. */
  readonly depth: number
  /** How many bytes may come of one compressed byte. */
  readonly ratio: number
  /** From how many bytes on the ratio counts: something small may be nothing but zeros. */
  readonly ratioFrom: number
}

export const defaultLimits: ArchiveLimits = {
  entries: 5_000_000,
  bytes: Number.MAX_SAFE_INTEGER,
  pathBytes: 32_768,
  depth: 1000,
  ratio: 250,
  ratioFrom: 64 * 1024 ** 2,
}

/** Of an archive of our own: whatever a tree is like, what was made of it can be read again. */
export const noLimits: ArchiveLimits = {
  entries: Infinity,
  bytes: Infinity,
  pathBytes: Infinity,
  depth: Infinity,
  ratio: Infinity,
  ratioFrom: Infinity,
}

/**
 * Where there are so many bytes of room. Logs grow a thousandfold and are no attack; what takes a quarter of the room at
 * most, and no more than a gigabyte, leaves enough to everybody else.
 */
export const limitsForSpace = (room: number): Pick<ArchiveLimits, 'bytes' | 'ratioFrom'> => ({
  bytes: room,
  ratioFrom: Math.max(defaultLimits.ratioFrom, Math.min(room / 4, 1024 ** 3)),
})

/** Of one extended header: it is read into memory, like all of the following. */
export const maxExtendedBytes = 4 * 1024 ** 2
/** Of a map of holes. */
export const maxSparseBytes = 16 * 1024 ** 2
export const maxSegments = 500_000
/** Of the first entry of an archive of ours. */
export const maxHeaderBytes = 64 * 1024
/** Zeros that may follow the end: programs fill up the last record. */
export const maxPadding = 16 * 1024 ** 2
/** Of compressed data. */
export const maxFrames = 100_000
