/** What the addon promises. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { addonCalls, addonName } from './calls-addon.ts'
import type { Argument, Calls, Processor } from './calls.ts'
import { packageFolder } from '../processes/package-folder.ts'
import { numbers } from './syscall-numbers.ts'

const processor = process.arch as Processor
const number = numbers[processor]
const read = { x64: 0, arm64: 63 }[processor]
const addon = join(packageFolder(), addonName(processor))

describe('system calls', () => {
  const calls: Calls = addonCalls(processor)

  test('a call answers its result, or the negative number of its error', () => {
    const fd = fs.openSync(tmpdir(), 'r')
    expect(calls.call(number.syncfs, fd)).toBe(0)
    fs.closeSync(fd)
    expect(calls.call(number.syncfs, fd)).toBe(-constants.errno.EBADF)
  })

  test('bytes are filled where they are, also a part of larger ones', () => {
    const whole = Buffer.alloc(512, 7)
    const part = whole.subarray(128, 384)
    const flags = 0x900
    expect(calls.call(number.statx, -100, import.meta.filename, flags, 0x7ff, part)).toBe(0)
    expect(part.readBigUInt64LE(40)).toBe(fs.statSync(import.meta.filename, { bigint: true }).size)
    expect([whole.subarray(0, 128), whole.subarray(384)]).toEqual([Buffer.alloc(128, 7), Buffer.alloc(128, 7)])
  })

  test.each<[unknown, string]>([
    ['a\0b', 'ERR_INVALID_ARG_VALUE'],
    [undefined, 'ERR_INVALID_ARG_TYPE'],
    [true, 'ERR_INVALID_ARG_TYPE'],
    [{}, 'ERR_INVALID_ARG_TYPE'],
    [() => 0, 'ERR_INVALID_ARG_TYPE'],
    [1.5, 'ERR_OUT_OF_RANGE'],
    [NaN, 'ERR_OUT_OF_RANGE'],
    [2 ** 53, 'ERR_OUT_OF_RANGE'],
    [2n ** 64n, 'ERR_OUT_OF_RANGE'],
    [-(2n ** 63n) - 1n, 'ERR_OUT_OF_RANGE'],
  ])('%o is no argument', (value, code) => {
    const refused = expect.objectContaining({ name: 'TypeError', code }) as Error
    expect(() => calls.call(number.syncfs, value as Argument)).toThrow(refused)
    expect(() => calls.call(number.renameat2, -100, 'a', -100, value as Argument)).toThrow(refused)
    expect(() => void calls.callLater(number.syncfs, value as Argument)).toThrow(refused)
  })

  test('takes BigInts, with and without a sign', () => {
    expect(calls.call(number.syncfs, -1n)).toBe(-constants.errno.EBADF)
    expect(calls.call(number.syncfs, 2n ** 64n - 1n)).toBe(-constants.errno.EBADF)
  })

  test('there are at most six arguments', () => {
    const refused = expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' }) as Error
    expect(() => calls.call(number.syncfs, -1, 0, 0, 0, 0, 0, 0)).toThrow(refused)
    expect(() => void calls.callLater(number.syncfs, -1, 0, 0, 0, 0, 0, 0)).toThrow(refused)
    expect(calls.call(number.syncfs, -1, 0, 0, 0, 0, 0)).toBe(-constants.errno.EBADF)
  })

  test('many later ones at once each have their own arguments', async () => {
    const buffers = Array.from({ length: 50 }, () => Buffer.alloc(256))
    const results = buffers.map((buffer, place) =>
      calls.callLater(number.statx, -100, place % 2 ? import.meta.filename : '/proc/none', 0x900, 0x7ff, buffer),
    )
    expect((await Promise.all(results)).map((result) => result === 0)).toEqual(
      buffers.map((_, place) => place % 2 === 1),
    )
    const { ino } = fs.statSync(import.meta.filename, { bigint: true })
    for (const [place, buffer] of buffers.entries()) expect(buffer.readBigUInt64LE(32)).toBe(place % 2 ? ino : 0n)
  })
})

describe('the addon', () => {
  test('tells the error of a later call', async () => {
    const calls = addonCalls(processor)
    expect(await calls.callLater(number.syncfs, -1)).toBe(-constants.errno.EBADF)
    expect(await calls.callLater(number.umount2, '/proc/none', 0)).toBe(-constants.errno.ENOENT)
  })

  test('a call needs a number', () => {
    const calls = addonCalls(processor) as unknown as { call(...values: unknown[]): number }
    expect(() => calls.call()).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }))
    expect(() => calls.call('syncfs')).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
  })

  test('bytes are kept until a later call is done, and no longer', () => {
    const script = `
      const loaded = { exports: {} }
      process.dlopen(loaded, ${JSON.stringify(addon)})
      const { openSync, writeSync } = require('fs')
      const { execFileSync } = require('child_process')
      execFileSync('mkfifo', ['pipe'])
      const fd = openSync('pipe', 'r+')
      const turn = () => new Promise((resolve) => setImmediate(resolve))
      const collect = async () => { for (let i = 0; i < 5; i++) { gc(); await turn() } }
      const begin = () => {
        const bytes = new Uint8Array(32)
        return [new WeakRef(bytes), loaded.exports.callLater(${read}, fd, bytes, 32)]
      }
      void (async () => {
        const [weak, done] = begin()
        await collect()
        const told = [weak.deref() !== undefined]
        await turn()
        writeSync(fd, 'hello')
        told.push(await done, Buffer.from(weak.deref() ?? []).toString('utf8', 0, 5))
        await turn()
        await collect()
        told.push(weak.deref() === undefined)
        console.log(JSON.stringify(told))
      })()`
    const folder = fs.mkdtempSync(join(tmpdir(), 'aw-calls-'))
    try {
      const ran = spawnSync(process.execPath, ['--expose-gc', '-e', script], { cwd: folder, encoding: 'utf8' })
      expect(ran).toMatchObject({ status: 0, stderr: '', stdout: '[true,5,"hello",true]\n' })
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  })

  test('loads in several threads, and one may end while a later call is under way', () => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'aw-calls-'))
    const inThread = `
      const { parentPort, workerData } = require('worker_threads')
      const loaded = { exports: {} }
      process.dlopen(loaded, ${JSON.stringify(addon)})
      if (workerData === undefined) parentPort.postMessage(loaded.exports.call(${number.syncfs}, -1))
      else {
        loaded.exports.callLater(${read}, workerData, Buffer.alloc(8), 8)
        parentPort.postMessage('waiting')
        setInterval(() => 0, 1000)
      }`
    const script = `
      const { openSync, writeSync } = require('fs')
      const { Worker } = require('worker_threads')
      require('child_process').execFileSync('mkfifo', ['pipe'])
      const fd = openSync('pipe', 'r+')
      const thread = ${JSON.stringify(inThread)}
      const begin = (workerData) => new Promise((resolve) => {
        const worker = new Worker(thread, { eval: true, workerData })
        worker.once('message', (message) => resolve([worker, message]))
      })
      void (async () => {
        const ready = await Promise.all([begin(), begin()])
        const [waiting] = await begin(fd)
        const ended = waiting.terminate()
        setTimeout(() => writeSync(fd, 'x'), 50)
        await ended
        console.log(JSON.stringify(ready.map(([, message]) => message)))
      })()`
    try {
      const ran = spawnSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8', timeout: 20_000 })
      expect(ran).toMatchObject({ status: 0, stderr: '', stdout: '[-9,-9]\n' })
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  })
})
