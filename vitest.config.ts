import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const second = 1000

/** Of one part, beside it; those of what stands in for a driver in tests are beside that. */
const unit = ['src/**/*.test.ts', 'test/memory/**/*.test.ts']

/** Of what processes do to each other and to files. */
const processes = ['test/{attacks,concurrency,crash,daemon}/**/*.test.ts']

/** As in test/package/compile-cache.ts. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/aw-compile', import.meta.url))

/** Four kinds of tests; `npm test` runs them all. The long sweeps have a file of their own, vitest.prove.config.ts. */
export default defineConfig({
  test: {
    pool: 'forks',
    // For two cores: a third of the time a test waits for a process or a disk.
    maxWorkers: 3,
    // What is waited for comes, but when is not ours to say: the default of a second is over soon where much is going on.
    expect: { poll: { timeout: 20 * second } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: unit,
          testTimeout: 30 * second,
          hookTimeout: 30 * second,
        },
      },
      {
        extends: true,
        test: {
          name: 'rules',
          include: ['test/rules/**/*.test.ts'],
          testTimeout: 30 * second,
          hookTimeout: 30 * second,
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: processes,
          globalSetup: ['test/package/build-once.ts'],
          env: { NODE_COMPILE_CACHE, ...inMemory() },
          testTimeout: 120 * second,
          hookTimeout: 120 * second,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/rules/**', 'test/prove/**', ...unit, ...processes],
          globalSetup: ['test/package/build-once.ts'],
          env: { NODE_COMPILE_CACHE },
          testTimeout: 120 * second,
          hookTimeout: 120 * second,
        },
      },
    ],
  },
})

/**
 * For tests that ask what processes do, and not what a disk does: their files are in memory, as most of their time is
 * waiting for a disk. Where there is little room, or programs may not be run from there, they are on it.
 */
function inMemory(): { TMPDIR?: string } {
  const folder = '/dev/shm'
  const room = 4 * 2 ** 30
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
    const [, , type, options = ''] = mounts.findLast((line) => line.split(' ')[1] === folder)?.split(' ') ?? []
    const { bavail, bsize } = statfsSync(folder)
    const isFit = type === 'tmpfs' && !options.split(',').includes('noexec')
    return isFit && Math.min(bavail * bsize, freemem()) > room ? { TMPDIR: folder } : {}
  } catch {
    return {}
  }
}
