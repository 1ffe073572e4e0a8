import { defineConfig } from 'vitest/config'
import { compileCache } from './test/package/compile-cache.ts'

const minute = 60_000

/** Of these `npm test` takes a part that is drawn anew each time: test/support/random-selection.ts. */
const drawn = [
  'test/agents/run.test.ts',
  'test/crash/recovery.test.ts',
  'test/daemon/{crash,load}.test.ts',
  'test/power-loss/power-loss.test.ts',
  'test/results/results.test.ts',
  'test/sandbox/{levels,stress,escape/corpus,exec/exec}.test.ts',
  'test/sources/{sources,templates/templates}.test.ts',
  'test/storage/{choice,required,overlay/driver,pool/pool,scale/scale,space/space}.test.ts',
]

/** The long sweeps, `npm run prove`: one after the other, with the time they need. */
export default defineConfig({
  test: {
    name: 'prove',
    pool: 'forks',
    maxWorkers: 1,
    include: ['test/prove/**/*.test.ts', ...drawn],
    env: { AW_ALL: '1', NODE_COMPILE_CACHE: compileCache() },
    globalSetup: ['test/package/build-once.ts'],
    // As in vitest.config.ts.
    expect: { poll: { timeout: minute / 3 } },
    testTimeout: 60 * minute,
    hookTimeout: 10 * minute,
  },
})
