import { defineConfig } from 'vitest/config'
import { compileCache } from './test/compile-cache.ts'

const second = 1000

/** Three kinds of tests; `npm test` runs them all. The long sweeps have a file of their own, vitest.prove.config.ts. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
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
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/rules/**', 'test/prove/**'],
          globalSetup: ['test/build-once.ts'],
          env: { NODE_COMPILE_CACHE: compileCache() },
          testTimeout: 120 * second,
          hookTimeout: 120 * second,
        },
      },
    ],
  },
})
