import type { BoxConnection } from './connection.ts'
import { request } from './frames.ts'
import type { BoxOwners, BoxRecord } from './record.ts'

/** A box that lives, and our connection to it. */
export interface ConnectedBox {
  readonly record: BoxRecord
  readonly owners: BoxOwners
  readonly connection: BoxConnection
}

/**
 * Connections to boxes that nobody uses right now, kept for a moment for whoever comes next: to find a box, to connect
 * and to part again is a tenth of what a short command takes. Each has one user at a time. They keep no process alive.
 */

const keptMs = 2000
const maxOfOne = 2

interface Kept {
  readonly box: ConnectedBox
  readonly until: NodeJS.Timeout
}

/** By the directories of the boxes. */
const idle = new Map<string, Kept[]>()

/** One that still stands, if there is one. */
export function takeIdleConnection(directory: string): ConnectedBox | undefined {
  for (;;) {
    const kept = idle.get(directory)?.pop()
    if (kept === undefined) return void idle.delete(directory)
    clearTimeout(kept.until)
    if (kept.box.connection.wake()) return lendConnection(directory, kept.box)
  }
}

/** The same box; when its user is done with it, another may have the connection. */
export function lendConnection(directory: string, box: ConnectedBox): ConnectedBox {
  // One that ends with its command has no next user.
  if (box.record.once) return box
  const { connection } = box
  let hasFrozen = false
  let isGivenBack = false
  return {
    ...box,
    connection: {
      ...connection,
      ask(type, payload, options) {
        hasFrozen ||= type === request.freeze
        return connection.ask(type, payload, options)
      },
      async [Symbol.asyncDispose]() {
        if (isGivenBack) return
        isGivenBack = true
        // What was frozen goes on when the connection ends.
        if (hasFrozen || !keepIdle(directory, box)) await connection[Symbol.asyncDispose]()
      },
    },
  }
}

function keepIdle(directory: string, box: ConnectedBox): boolean {
  const others = idle.get(directory) ?? []
  // With something still going on it is closed, which ends that.
  if (others.length >= maxOfOne || !box.connection.rest()) return false
  const close = (): void => {
    const left = (idle.get(directory) ?? []).filter((kept) => kept.box !== box)
    if (left.length > 0) idle.set(directory, left)
    else idle.delete(directory)
    void box.connection[Symbol.asyncDispose]()
  }
  idle.set(directory, [...others, { box, until: setTimeout(close, keptMs).unref() }])
  return true
}

/** Closes those to the boxes below a directory. */
export async function closeIdleConnections(run: string): Promise<void> {
  const own = [...idle.keys()].filter((directory) => directory.startsWith(`${run}/`))
  const closing = own.flatMap((directory) => idle.get(directory) ?? [])
  for (const directory of own) idle.delete(directory)
  await Promise.all(
    closing.map(({ box, until }) => {
      clearTimeout(until)
      return box.connection[Symbol.asyncDispose]()
    }),
  )
}
