import { defineConfig } from 'vitest/config'

const minute = 60_000

/** The long sweeps, `npm run prove`: one after the other, with the time they need. */
export default defineConfig({
  test: {
    name: 'prove',
    pool: 'forks',
    maxWorkers: 1,
    include: ['test/prove/**/*.test.ts'],
    globalSetup: ['test/build-once.ts'],
    testTimeout: 60 * minute,
    hookTimeout: 10 * minute,
  },
})
