import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lock, tryLock } from '../../../src/sys/locks/lock.ts'
import { startProgram, type Program } from '../../support/program.ts'

let folder: string
let file: string
const running: Program[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-lock-'))
  file = join(folder, 'one.lock')
})

afterEach(async () => {
  for (const program of running) program.process.kill('SIGKILL')
  await Promise.all(running.splice(0).map((program) => program.ended))
  rmSync(folder, { recursive: true, force: true })
})

const start = (...args: string[]): Program => {
  const program = startProgram('lock-contender.ts', args)
  running.push(program)
  return program
}

/** What a lock promises, whichever way this process and its contenders have of taking one. */
export function lockContract(): void {
  describe('lock', () => {
    it('takes its file along when it is retired', () => {
      const first = tryLock(file)
      first?.retire()
      expect(existsSync(file)).toBe(false)
      first?.retire()
    })

    it('that was retired is no lock any more: who waited for it and a newcomer exclude each other', async () => {
      const first = tryLock(file)
      const waiting = lock(file, { timeoutMs: 20_000 })
      first?.retire()
      // The newcomer is first, with a file of its own.
      const newcomer = tryLock(file)
      expect(newcomer).toBeDefined()
      const early = Symbol('waits')
      expect(await Promise.race([waiting, sleep(100, early)])).toBe(early)
      newcomer?.[Symbol.dispose]()
      using second = await waiting
      expect(second).toBeDefined()
      expect(existsSync(file)).toBe(true)
      expect(tryLock(file)).toBeUndefined()
    })

    it('that was retired late does not take the file of another holder along', () => {
      const first = tryLock(file)
      unlinkSync(file)
      using second = tryLock(file)
      expect(second).toBeDefined()
      first?.retire()
      expect(tryLock(file)).toBeUndefined()
    })

    it('has one holder at a time among processes that retire it each time', async () => {
      const contenders = Array.from({ length: 6 }, () => start('retire', file, '60'))
      const ends = await Promise.all(contenders.map((contender) => contender.ended))
      expect(ends.map((end) => end.stderr).join('')).toBe('')
      expect(contenders.flatMap((contender) => contender.lines)).toEqual(Array.from({ length: 6 }, () => 'done'))
    }, 120_000)

    it('excludes inside one process, and lets go when disposed of', () => {
      const first = tryLock(file)
      expect(first).toBeDefined()
      expect(tryLock(file)).toBeUndefined()
      first?.[Symbol.dispose]()
      using second = tryLock(file)
      expect(second).toBeDefined()
      // A refused or repeated release must not take the lock from its present holder.
      first?.[Symbol.dispose]()
      expect(tryLock(file)).toBeUndefined()
    })

    it('writes nothing to its file and leaves nothing beside it', () => {
      using _mine = tryLock(file)
      expect(statSync(file).size).toBe(0)
      expect(execFileSync('ls', [folder], { encoding: 'utf8' })).toBe('one.lock\n')
    })

    it('tells different files apart', () => {
      using one = tryLock(file)
      using other = tryLock(join(folder, 'other.lock'))
      expect([one, other]).not.toContain(undefined)
    })

    it('waits for the holder', async () => {
      const first = tryLock(file)
      const waiting = lock(file)
      setTimeout(() => first?.[Symbol.dispose](), 20)
      using second = await waiting
      expect(second).toBeDefined()
    })

    it('gives up when the time has run out or the signal fires', async () => {
      using _mine = tryLock(file)
      expect(await lock(file, { timeoutMs: 10 })).toBeUndefined()
      await expect(lock(file, { signal: AbortSignal.timeout(10) })).rejects.toMatchObject({ code: 'aborted' })
      await expect(lock(file, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
    })

    it('says why a lock file cannot be used', async () => {
      expect(() => tryLock(join(folder, 'missing', 'x.lock'))).toThrow(/cannot be/)
      await expect(lock(join(folder, 'missing', 'x.lock'))).rejects.toMatchObject({ code: 'filesystem_error' })
    })

    it('is freed by the kernel when its holder is killed', async () => {
      const holder = start('hold', file)
      await holder.line((line) => line === 'holding')
      expect(tryLock(file)).toBeUndefined()
      holder.process.kill('SIGKILL')
      await holder.ended
      using mine = tryLock(file)
      expect(mine).toBeDefined()
    })

    it('is not kept by a child of its holder', async () => {
      const mine = tryLock(file)
      const child = start('hold', join(folder, 'childs-own.lock'))
      await child.line((line) => line === 'holding')
      mine?.[Symbol.dispose]()
      const other = start('hold', file)
      expect(await other.line((line) => line === 'holding')).toBe('holding')
    })

    it('has one holder at a time among 20 processes', async () => {
      const contenders = Array.from({ length: 20 }, () => start('race', file, '10'))
      const ends = await Promise.all(contenders.map((contender) => contender.ended))
      expect(ends.map((end) => end.stderr).join('')).toBe('')
      expect(contenders.flatMap((contender) => contender.lines)).toEqual(Array.from({ length: 20 }, () => 'done'))
    }, 120_000)
  })

  it('is shared by several, and by nobody who wants it alone', async () => {
    const [one, two] = [tryLock(file, { shared: true }), await lock(file, { shared: true })]
    expect(tryLock(file)).toBeUndefined()
    one?.[Symbol.dispose]()
    expect(tryLock(file)).toBeUndefined()
    two?.[Symbol.dispose]()
    const alone = tryLock(file)
    expect(alone).toBeDefined()
    expect(tryLock(file, { shared: true })).toBeUndefined()
    expect(await lock(file, { shared: true, timeoutMs: 20 })).toBeUndefined()
    alone?.[Symbol.dispose]()
    const last = await lock(file, { shared: true })
    expect(last).toBeDefined()
    last?.[Symbol.dispose]()
  })
}
