import { defineConfig } from 'vitest/config'

const second = 1000

/** For the tests that `on-image.ts` starts on a file system of their own. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  cacheDir: process.env['AW_TEST_CACHE'] ?? '',
  test: {
    include: ['test/**/*.inside.ts'],
    pool: 'forks',
    maxWorkers: 1,
    maxConcurrency: 8,
    // The report has only the message of a failure: it must say everything.
    chaiConfig: { truncateThreshold: 0 },
    // As in vitest.config.ts.
    expect: { poll: { timeout: 20 * second } },
    testTimeout: 60 * second,
    hookTimeout: 60 * second,
  },
})
