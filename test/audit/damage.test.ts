import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AwError } from '../../src/domain/errors.ts'
import { sqliteEvents } from '../../src/drivers/events/sqlite/sqlite.ts'
import type { Verification } from '../../src/ports/event-store.ts'
import { collect } from '../support/collect.ts'
import { copyOf, makeLog, type StoredLog } from './log.ts'

/** A disk that lies: bytes flipped and files cut anywhere. Printed seeds make a failure repeatable. */
const seed = Number(process.env['AW_SEED'] ?? Date.now() % 1e9)
const runs = Number(process.env['AW_RUNS'] ?? 300)

/** `internal` is a schema that SQLite cannot make sense of; `home_version` a format number that was hit. */
const refusals = ['log_damaged', 'filesystem_error', 'home_version', 'internal']

let original: StoredLog
let truth: string

beforeAll(async () => {
  original = await makeLog()
  truth = (await examine(original)).log ?? ''
})
afterAll(() => original.remove())

interface Examined {
  /** Why the log could not be opened or read. */
  readonly refused?: AwError
  readonly found?: Verification
  readonly log?: string
}

async function examine(log: StoredLog): Promise<Examined> {
  try {
    await using store = await sqliteEvents(log)
    const found = await store.verify()
    return { found, log: JSON.stringify(await collect(store.follow())) }
  } catch (error) {
    if (error instanceof AwError) return { refused: error }
    throw error
  }
}

/** Refused, reported, or without consequence: never another history that calls itself intact. */
async function expectNoLie(what: string, spoil: (log: StoredLog) => void): Promise<void> {
  const log = copyOf(original)
  try {
    spoil(log)
    const { refused, found, log: read } = await examine(log)
    const lie = refused === undefined && found?.intact === true && read !== truth
    expect({ what, lie }).toEqual({ what, lie: false })
    if (refused) expect(refusals).toContain(refused.code)
  } finally {
    log.remove()
  }
}

describe(`a damaged file (AW_SEED=${seed})`, () => {
  const random = generator(seed)

  it('with a flipped byte', async () => {
    for (let run = 0; run < runs; run++) {
      const bytes = readFileSync(original.file)
      const offset = Math.floor(random() * bytes.length)
      const flip = 1 + Math.floor(random() * 255)
      bytes.writeUInt8(bytes.readUInt8(offset) ^ flip, offset)
      await expectNoLie(`byte ${offset} by ${flip}`, (log) => writeFileSync(log.file, bytes))
    }
  })

  it('that ends too soon', async () => {
    const { length } = readFileSync(original.file)
    for (let run = 0; run < runs / 3; run++) {
      // An empty file is a new home: the anchor tells, and that has a test of its own.
      const size = 1 + Math.floor(random() * (length - 1))
      await expectNoLie(`cut at ${size}`, (log) => truncateSync(log.file, size))
    }
  })
})

/** mulberry32: short, and the same everywhere. */
function generator(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
