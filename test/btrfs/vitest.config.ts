import { defineConfig } from 'vitest/config'

/** For the tests that run on a btrfs of their own: `test/btrfs.test.ts` mounts it and starts them. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  cacheDir: process.env['AW_TEST_CACHE'] ?? '',
  test: {
    include: ['test/btrfs/**/*.inside.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
  },
})
