import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { openLog, type LogEntry } from './log.ts'
import { readSettings, settingsText } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'aw-proxy-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const entry = (more: Partial<LogEntry> = {}): LogEntry => ({
  id: 1,
  time: '2026-01-01T00:00:00.000Z',
  method: 'GET',
  host: 'example.com',
  port: 443,
  address: null,
  verdict: 'allowed',
  reason: null,
  up: 0,
  down: 0,
  ms: 1,
  ...more,
})

function withLog<T>(name: string, use: (fd: number, text: () => string) => T): T {
  const file = join(folder, name)
  const fd = openSync(file, 'a', 0o600)
  try {
    return use(fd, () => readFileSync(file, 'latin1'))
  } finally {
    closeSync(fd)
  }
}

test('whatever is in a line, it is one line of printable ASCII that says the same', () => {
  withLog('lines', (fd, text) => {
    const log = openLog(fd, 100_000_000, 1)
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (method) => {
        const before = text().length
        log.write(entry({ method }))
        const line = text().slice(before)
        expect(line).toMatch(/^[ -~]+\n$/)
        expect(JSON.parse(line)).toEqual(entry({ method }))
      }),
    )
    log.write(entry({ method: '\n{"verdict":"allowed"}\r\u2028\u001b[2J\u0085' }))
    expect(text().trimEnd().split('\n').at(-1)).toContain('\\n{\\"verdict')
  })
})

test('full, it says so once, and goes on when its owner has made room', () => {
  withLog('full', (fd, text) => {
    const log = openLog(fd, 20_000, 4)
    let written = 0
    while (!log.isFull()) {
      log.write(entry())
      written += 1
    }
    expect(written).toBeGreaterThan(10)
    expect([log.isFull(), log.isFull()]).toEqual([true, true])
    log.write(entry({ verdict: 'refused', reason: 'log_full' }))
    expect(text().match(/log_full/g)).toHaveLength(1)
    // Those under way still have their room.
    for (let at = 0; at < 8; at++) log.write(entry({ host: 'x'.repeat(253), method: 'x'.repeat(20) }))
    expect(text().length).toBeLessThan(20_000)
    ftruncateSync(fd, 0)
    expect(log.isFull()).toBe(false)
  })
})

test('it asks to be put aside before it is full, when it is, and when nobody could find it any more', () => {
  withLog('aside', (fd) => {
    const log = openLog(fd, 100_000, 4)
    const at = (size: number) => (ftruncateSync(fd, size), [log.toBePutAside(), log.isFull()])
    expect(at(75_000)).toEqual([undefined, false])
    expect(at(75_001)).toEqual(['soon', false])
    expect(at(100_000)).toEqual(['now', true])
    expect(at(0)).toEqual([undefined, false])
    rmSync(join(folder, 'aside'))
    expect(at(0)).toEqual(['now', true])
  })
})

test('a file that cannot be written counts as full', () => {
  const fd = openSync('/dev/full', 'w')
  try {
    const log = openLog(fd, 1_000_000, 1)
    expect(log.isFull()).toBe(false)
    log.write(entry())
    expect(log.isFull()).toBe(true)
    // Another one would have no more room.
    expect(log.toBePutAside()).toBe(undefined)
  } finally {
    closeSync(fd)
  }
})

test('settings are read as they were written, and nothing that is not understood is passed over', () => {
  const file = join(folder, 'settings.json')
  writeFileSync(file, settingsText({ workspace: 'a/b', allow: ['npm', '127.0.0.1:8080'], limits: { requests: 7 } }))
  expect(readSettings(file)).toMatchObject({ workspace: 'a/b', limits: { requests: 7, connections: 256 } })
  expect(readSettings(file).rules.map(({ host }) => host)).toEqual(['registry.npmjs.org', '127.0.0.1'])
  expect(() => settingsText({ workspace: 'a/b', allow: ['*.com'] })).toThrow(/whatever anybody/)
  const good = { version: 1, workspace: 'a/b', allow: [], limits: {} }
  const wrong = [
    { ...good, version: 2 },
    { ...good, inject: [] },
    { ...good, allow: 'npm' },
    { ...good, allow: [7] },
    { ...good, allow: ['*.com'] },
    { ...good, workspace: null },
    { ...good, user: 0 },
    { ...good, user: '7' },
    { ...good, limits: { requests: 0 } },
    { ...good, limits: { requests: '7' } },
    { ...good, limits: { __proto__x: 1 } },
    { ...good, limits: null },
  ]
  for (const settings of wrong) {
    writeFileSync(file, JSON.stringify(settings))
    expect(() => readSettings(file)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  }
})
