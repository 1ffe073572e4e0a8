import { describe, expect, test } from 'vitest'
import { sweep, swept } from './crash-sweep.ts'

/** Some of the points; every one of them is tried in test/prove. */
describe.each(swept)('killed while a clone is made, %s', (what) => {
  test.each([true, false])('(without history: %s)', async (shallow) => {
    expect(await sweep({ what, shallow, step: 23 })).toBeGreaterThan(20)
  })
})
