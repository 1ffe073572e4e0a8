import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { retryWhileBusy } from './retry-busy.ts'

let folder: string
let file: string
/** The connection of another process. */
let other: DatabaseSync
let mine: DatabaseSync

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-patience-'))
  file = join(folder, 'log')
  other = new DatabaseSync(file)
  mine = new DatabaseSync(file)
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE line (text TEXT); BEGIN IMMEDIATE')
})

afterEach(() => {
  for (const connection of [mine, other]) connection.close()
  rmSync(folder, { recursive: true })
})

/** It has written something, and has the log again before anybody else could. */
const getOn = (): void => other.exec("INSERT INTO line VALUES ('x'); COMMIT; BEGIN IMMEDIATE")
const attempt = (): void => mine.exec('BEGIN IMMEDIATE')

it('waits for others as long as they get on, though that takes longer than one of them may do nothing', async () => {
  const patienceMs = 40
  let begun: number | undefined
  const waited = (): number => performance.now() - (begun ??= performance.now())
  const work = (): string => {
    if (waited() > 5 * patienceMs) other.exec('COMMIT')
    else getOn()
    attempt()
    return 'done'
  }
  expect(await retryWhileBusy(work, { file, patienceMs })).toBe('done')
  expect(waited()).toBeGreaterThan(5 * patienceMs)
})

it('gives up when whoever holds the log does nothing with it, and says so', async () => {
  await expect(retryWhileBusy(attempt, { file, patienceMs: 30 })).rejects.toMatchObject({
    code: 'log_busy',
    retryable: true,
    message: expect.stringMatching(/^Other processes held the log for \d+\.\d s$/) as string,
  })
})

it('waits for nobody for ever, however much they write', async () => {
  const work = (): void => {
    getOn()
    attempt()
  }
  await expect(retryWhileBusy(work, { file, patienceMs: 2 })).rejects.toMatchObject({ code: 'log_busy' })
})

it('ends when whoever asked has gone', async () => {
  const over = new AbortController()
  const work = (): void => {
    over.abort()
    attempt()
  }
  await expect(retryWhileBusy(work, { file, patienceMs: 60_000, signal: over.signal })).rejects.toMatchObject({
    code: 'aborted',
  })
})
