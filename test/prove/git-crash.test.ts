import { describe, expect, test } from 'vitest'
import { sweep, swept } from '../sources/git/crash-sweep.ts'

describe.each(swept)('killed at every point while a clone is made, %s', (what) => {
  test.each([true, false])('(without history: %s)', async (shallow) => {
    expect(await sweep({ what, shallow, step: 1 })).toBeGreaterThan(20)
  })
})
