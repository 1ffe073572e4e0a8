/** How a daemon and those who look for it find each other; and what it tells of itself. */

/** In the home, which only its user can enter. */
export const socketName = 'aw.sock'

/** More does not fit into the address of a socket. */
export const maxSocketPathBytes = 107

export interface DaemonFacts {
  readonly pid: number
  readonly version: string
  readonly started_at: string
  readonly socket: string
  /** `http://127.0.0.1:PORT`, if it listens there. */
  readonly listen: string | null
}

/** What tells whether a file is still the one that was read; `none` if there is none. */
export const fileStamp = (found: { ino: number; size: number; mtimeMs: number } | undefined): string =>
  found === undefined ? 'none' : `${found.ino}-${found.size}-${found.mtimeMs}`
