import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileHandle } from '../../src/ports/files.ts'
import { openRoot } from '../../src/sys/safe-fs/index.ts'
import { checks } from './naive.ts'
import { makePlace, type Place, secret } from './fixture.ts'

/** Enough for the naive check to fall dozens of times; `npm run prove` and nightly runs may raise it. */
const attempts = Number(process.env['AW_RACE_ATTEMPTS'] ?? 4000)
/** So many must succeed, or the wall would be a refusal of everything. A busy machine may need more attempts for it. */
const floor = 100
const patience = 50

let place: Place
let attacker: ChildProcess

beforeEach(async () => {
  place = makePlace()
  fs.mkdirSync(place.in('swap/deeper'), { recursive: true })
  for (const path of ['swap/hoard', 'swap/deeper/hoard']) fs.writeFileSync(place.in(path), 'inside')
  fs.mkdirSync(place.out('vault/deeper'))
  fs.writeFileSync(place.out('vault/deeper/hoard'), secret)
  place.link('../vault', 'bait')
  attacker = spawn(process.execPath, [join(import.meta.dirname, 'attacker.ts'), place.ws, 'swap', 'bait'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (attacker.stdout) await once(attacker.stdout, 'data')
})

afterEach(async () => {
  attacker.kill('SIGKILL')
  if (attacker.exitCode === null && attacker.signalCode === null) await once(attacker, 'exit')
  place[Symbol.dispose]()
})

async function count(call: (n: number) => unknown): Promise<{ succeeded: number; escaped: number }> {
  const before = place.guarded()
  let [succeeded, escaped] = [0, 0]
  for (let n = 0; n < attempts || (succeeded < floor && n < patience * attempts); n++) {
    let answer: unknown
    try {
      answer = call(n)
      if (answer instanceof Promise) answer = await answer
    } catch {
      continue
    }
    succeeded += 1
    if (Buffer.isBuffer(answer) ? answer.includes(secret) : /marker/.test(JSON.stringify(answer))) escaped += 1
  }
  if (place.guarded() !== before) escaped += 1
  return { succeeded, escaped }
}

const calls: Readonly<Record<string, (files: FileHandle, n: number) => unknown>> = {
  read: (files) => files.read('swap/hoard'),
  'read deeper': (files) => files.read('swap/deeper/../deeper/hoard'),
  write: (files, n) => files.write('swap/hoard', `${n}`),
  'write with parents': (files, n) => files.write(`swap/new/${n % 10}/file`, 'x'),
  append: (files) => files.append('swap/deeper/hoard', '.'),
  open: async (files) => {
    using file = files.open('swap/hoard')
    return await file.read(0, 1000)
  },
  create: async (files, n) => {
    using file = files.create('swap/hoard')
    await file.write(Buffer.from(`${n}`))
    return file.finish()
  },
  'create with parents': async (files, n) => {
    using file = files.create(`swap/newer/${n % 10}/file`)
    await file.write(Buffer.from('x'))
    return file.finish()
  },
  list: (files) => files.list('swap'),
  tree: (files) => files.tree(''),
  copy: (files) => {
    files.copy('swap/hoard', 'copy', { replace: true })
    return files.read('copy')
  },
  rename: (files) => {
    files.write('mine', 'x')
    return files.rename('mine', 'swap/mine', { replace: true })
  },
  'remove a tree': (files) => {
    files.write('swap/tree/of/mine', 'x', { parents: true })
    return files.remove('swap/tree', { recursive: true })
  },
}

describe.each(['openat2', 'walk'] as const)(
  'against a process that swaps a directory and a link, by %s',
  (resolver) => {
    test.each(Object.entries(calls))('%s: no escape, and not refused wholesale', async (_, call) => {
      const files = openRoot(place.ws, { resolver, protect: ['.aw'] })
      try {
        const { succeeded, escaped } = await count((n) => call(files, n))
        expect(escaped).toBe(0)
        expect(succeeded).toBeGreaterThanOrEqual(floor)
      } finally {
        files[Symbol.dispose]()
      }
    })
  },
)

test('the race is real: checking with realpath and then opening does escape', () => {
  let escaped = 0
  for (let n = 0; n < 100 * attempts && escaped === 0; n++) {
    try {
      escaped += fs.readFileSync(checks.realpath(place.ws, 'swap/hoard'), 'utf8') === secret ? 1 : 0
    } catch {
      // Refused this time.
    }
  }
  expect(escaped).toBeGreaterThan(0)
})
