import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { inMemory } from './test/in-memory.ts'

const second = 1000

/** Of what processes do to each other and to files. */
const processes = ['test/{attacks,concurrency,crash,daemon}/**/*.test.ts']

/** As in test/compile-cache.ts. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/aw-compile', import.meta.url))

/** Four kinds of tests; `npm test` runs them all. The long sweeps have a file of their own, vitest.prove.config.ts. */
export default defineConfig({
  test: {
    pool: 'forks',
    // For two cores: a third of the time a test waits for a process or a disk.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          env: inMemory(),
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
          globalSetup: ['test/build-once.ts'],
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
          exclude: ['test/rules/**', 'test/prove/**', ...processes],
          globalSetup: ['test/build-once.ts'],
          env: { NODE_COMPILE_CACHE },
          testTimeout: 120 * second,
          hookTimeout: 120 * second,
        },
      },
    ],
  },
})
