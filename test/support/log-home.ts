import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/ports/clock.ts'

export const systemClock: Clock = { now: () => new Date(), random: (bytes) => randomBytes(bytes) }

/** A directory for one log; `remove` takes it away again. */
export interface LogHome {
  readonly folder: string
  readonly file: string
  readonly anchor: string
  readonly clock: Clock
  remove(): void
}

export function makeLogHome(): LogHome {
  const folder = mkdtempSync(join(tmpdir(), 'aw-log-'))
  return {
    folder,
    file: join(folder, 'log.db'),
    anchor: join(folder, 'log.anchor'),
    clock: systemClock,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
