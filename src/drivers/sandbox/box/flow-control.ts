import { malformed } from './frames.ts'

/** How much of a command's output may be on its way or wait here. */
const outputBytes = 1024 * 1024
/** How much input the other side takes before it has passed some on. */
const inputBytes = 256 * 1024
/** Small parts, so that other conversations get in between. */
const partBytes = 64 * 1024

interface Credits {
  /** What is given with the request. */
  readonly first: number
  /** Throws when more has come than was allowed. */
  arrived(bytes: number): void
  /** So much is no longer waiting: given out again, in larger portions. */
  readonly read: (bytes: number) => void
}

export function credits(give: (bytes: number) => void): Credits {
  let left = outputBytes
  let owed = 0
  return {
    first: outputBytes,
    arrived(bytes) {
      left -= bytes
      if (left < 0) throw malformed('more output than it was asked for')
    },
    read(bytes) {
      owed += bytes
      if (owed < outputBytes / 4) return
      left += owed
      give(owed)
      owed = 0
    },
  }
}

interface InputWindow {
  /** Waits until something can be sent and answers how much of it; 0 when nobody takes it any more. */
  room(wanted: number): Promise<number>
  taken(bytes: number): void
  close(): void
  isClosed(): boolean
  readonly closed: Promise<undefined>
}

export function inputWindow(): InputWindow {
  const { promise: closed, resolve } = Promise.withResolvers<undefined>()
  let left = inputBytes
  let over = false
  let wake: (() => void) | undefined
  return {
    closed,
    isClosed: () => over,
    async room(wanted) {
      await new Promise<void>((resume) => {
        wake = () => {
          if (left > 0 || over) resume()
        }
        wake()
      })
      if (over) return 0
      const part = Math.min(wanted, left, partBytes)
      left -= part
      return part
    },
    taken(bytes) {
      left += bytes
      if (left > inputBytes) throw malformed('that it took more input than there was')
      wake?.()
    },
    close() {
      over = true
      resolve(undefined)
      wake?.()
    },
  }
}
