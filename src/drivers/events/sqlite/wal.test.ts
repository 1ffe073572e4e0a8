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
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
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
      // Begun already, perhaps before what these have committed: they get another one, together.
      expect(flushes).toHaveLength(1)
      const others = [wal.flushed(), wal.flushed(), wal.flushed()]
      expect(new Set(others).size).toBe(1)
      await Promise.all([first, ...others])
      expect(flushes).toHaveLength(2)
    } finally {
      hostFs.fdatasync = flush
    }
    expect(carried).toBe(0)
  })

  it('is as long as it will become where that makes it quicker, and what was in it stays', () => {
    writeFileSync(`${database}-wal`, 'frames')
    using wal = openWal(database, carryOver)
    for (let i = 0; i < 2; i++) {
      while (wal.lengthen());
      const content = readFileSync(`${database}-wal`)
      const isLong = ['ext4', 'xfs'].includes(fileSystemOf(folder))
      expect(content.length).toBe(isLong ? 32 + 1100 * 4120 : 6)
      expect(content.subarray(0, 6).toString()).toBe('frames')
      expect(content.subarray(6).every((byte) => byte === 0)).toBe(true)
    }
    rmSync(`${database}-wal`)
    expect(wal.lengthen()).toBe(false)
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
