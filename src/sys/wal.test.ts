import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fileSystemOf } from './file-system.ts'
import { hostFs } from './host-fs.ts'
import { openWal } from './wal.ts'

let folder: string
let database: string
let carried: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-wal-'))
  database = join(folder, 'log.db')
  carried = 0
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const carryOver = (): void => void (carried += 1)
const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
/** A device that cannot be flushed. */
const breakWal = (): void => symlinkSync('/dev/null', `${database}-wal`)

describe('waiting for the disk', () => {
  it('is one flush for all that asked while another was under way', async () => {
    writeFileSync(`${database}-wal`, 'frames')
    using wal = openWal(database, carryOver)
    const flushes: number[] = []
    const flush = hostFs.fdatasync
    hostFs.fdatasync = async (fd) => {
      flushes.push(fd)
      await flush(fd)
    }
    try {
      const first = wal.flushed()
      await Promise.resolve().then(() => undefined)
      // Begun already, perhaps before what these have committed: they get another one, together.
      await expect.poll(() => flushes.length).toBe(1)
      const others = [wal.flushed(), wal.flushed(), wal.flushed()]
      expect(new Set(others).size).toBe(1)
      await Promise.all([first, ...others])
      expect(flushes).toHaveLength(2)
    } finally {
      hostFs.fdatasync = flush
    }
    expect(carried).toBe(0)
  })

  it('is done here while the disk is quick and nobody does anything else meanwhile', async () => {
    writeFileSync(`${database}-wal`, 'frames')
    using wal = openWal(database, carryOver)
    const ways: string[] = []
    const { fdatasync, fdatasyncSync } = hostFs
    let hereMs = 0
    hostFs.fdatasync = () => Promise.resolve(void ways.push('elsewhere'))
    hostFs.fdatasyncSync = () => {
      ways.push('here')
      const until = performance.now() + hereMs
      while (performance.now() < until);
    }
    const flush = async (count: number, alone: boolean): Promise<string[]> => {
      ways.length = 0
      for (let i = 0; i < count; i++) await wal.flushed(alone)
      return ways.slice()
    }
    try {
      // Retried: this process may be kept from the processor for as long as a slow disk takes.
      await expect.poll(async () => [await flush(8, true), await flush(1, true)][1]).toEqual(['here'])
      expect(await flush(2, false)).toEqual(['elsewhere', 'elsewhere'])
      hereMs = 2
      await expect.poll(() => flush(1, true)).toEqual(['here'])
      expect(await flush(8, true)).toEqual(Array.from({ length: 8 }, () => 'elsewhere'))
    } finally {
      Object.assign(hostFs, { fdatasync, fdatasyncSync })
    }
  })

  it('carries over what the disk did not take while it was waited for here', async () => {
    writeFileSync(`${database}-wal`, 'frames')
    using wal = openWal(database, carryOver)
    const { fdatasyncSync } = hostFs
    let failed = 0
    hostFs.fdatasyncSync = () => {
      failed += 1
      throw new Error('EIO')
    }
    try {
      const once = async (): Promise<number> => {
        await wal.flushed(true)
        return failed
      }
      for (let i = 0; i < 1000; i++) if ((await once()) > 0) break
    } finally {
      hostFs.fdatasyncSync = fdatasyncSync
    }
    expect([failed, carried]).toEqual([1, 1])
  })

  it('is as long as it will become where that makes it quicker, and what was in it stays', () => {
    writeFileSync(`${database}-wal`, 'frames')
    using wal = openWal(database, carryOver)
    for (let i = 0; i < 2; i++) {
      wal.lengthen()
      const content = readFileSync(`${database}-wal`)
      const isLong = ['ext4', 'xfs'].includes(fileSystemOf(folder))
      expect(content.length).toBe(isLong ? 32 + 1100 * 4120 : 6)
      expect(content.subarray(0, 6).toString()).toBe('frames')
      expect(content.subarray(6).every((byte) => byte === 0)).toBe(true)
    }
    rmSync(`${database}-wal`)
    wal.lengthen()
    expect(existsSync(`${database}-wal`)).toBe(false)
  })

  it('has nothing to wait for where nothing was committed', async () => {
    using wal = openWal(database, carryOver)
    await wal.flushed()
    expect(carried).toBe(0)
  })

  it('carries what the disk did not take over into the database', async () => {
    breakWal()
    using wal = openWal(database, carryOver)
    await wal.flushed()
    expect(carried).toBe(1)
  })

  it('fails as long as nothing can be carried over, and does not trust the kernel meanwhile', async () => {
    breakWal()
    let isFull = true
    using wal = openWal(database, () => {
      if (isFull) throw new Error('full')
      carryOver()
    })
    await expect(wal.flushed()).rejects.toThrow('full')
    await expect(wal.flushed()).rejects.toThrow('full')
    isFull = false
    await wal.flushed()
    expect(carried).toBe(1)
  })

  it('can still be asked when it was closed, and keeps nothing open', async () => {
    writeFileSync(`${database}-wal`, 'frames')
    const open = (): string[] =>
      readdirSync('/proc/self/fd').flatMap((fd) => {
        const target = linkOf(`/proc/self/fd/${fd}`)
        return target.startsWith(folder) ? [target] : []
      })
    const wal = openWal(database, carryOver)
    await wal.flushed()
    expect(open()).toHaveLength(1)
    wal[Symbol.dispose]()
    await expect.poll(open).toEqual([])
    const flush = hostFs.fdatasync
    let flushes = 0
    hostFs.fdatasync = async (fd) => {
      flushes += 1
      await flush(fd)
    }
    try {
      await wal.flushed()
    } finally {
      hostFs.fdatasync = flush
    }
    expect([flushes, open()]).toEqual([1, []])
  })

  it('ends what is under way before it closes', async () => {
    writeFileSync(`${database}-wal`, 'frames')
    const wal = openWal(database, carryOver)
    const waiting = wal.flushed()
    wal[Symbol.dispose]()
    await waiting
    expect(carried).toBe(0)
  })
})
