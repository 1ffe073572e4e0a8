import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampled } from '../../crash/sweep.ts'
import { takesAll } from '../../support/random-selection.ts'
import type { Ran } from '../../cli/built-command.ts'
import { scene, stateOf, type Scene } from './scene.ts'

/** Stops the hook at a sample of its points, until it is through; answers how often. */
function killed(own: Scene, every: number, hook: (point: number) => Ran, check: (point: number) => void): number {
  const { from, step } = takesAll ? { from: 1, step: 1 } : sampled(every)
  for (let point = from, times = 0; ; point += step, times++) {
    own.place.env['AW_CRASH_AT'] = `${point}`
    const { code, stderr } = hook(point)
    delete own.place.env['AW_CRASH_AT']
    // Killed by a signal.
    if (code !== null) expect({ point, code, stderr }).toMatchObject({ code: 0 })
    check(point)
    if (code !== null) return times
  }
}

test('a create hook that is killed at any point leaves the repository as it was, and a whole workspace or none', () => {
  using own = scene()
  const before = stateOf(own)
  const times = killed(
    own,
    19,
    () => own.create(),
    () => {
      expect(own.place.aw('recover').code).toBe(0)
      expect(stateOf(own)).toBe(before)
      const all = JSON.parse(own.place.aw('list', '--json').stdout) as { state: string; path: string }[]
      for (const { state, path } of all) {
        expect(state).toBe('ready')
        expect(own.sh(`git -C ${path} fsck --strict 2>&1 && cat ${path}/.env ${path}/untracked.txt`)).toBe(
          'KEY=1\nnew\n',
        )
      }
      // It is asked for again, and what is there is in nobody's way.
      const again = own.create()
      expect(again).toMatchObject({ code: 0, stderr: '' })
      expect(own.remove(again.path).code).toBe(0)
    },
  )
  expect(times).toBeGreaterThan(0)
}, 300_000)

test('a remove hook that is killed at any point loses nothing that was not committed', () => {
  using own = scene()
  let path = ''
  const times = killed(
    own,
    3,
    (point) => {
      delete own.place.env['AW_CRASH_AT']
      path = own.create().path
      writeFileSync(join(path, 'precious'), `${point}`)
      own.place.env['AW_CRASH_AT'] = `${point}`
      return own.remove(path)
    },
    (point) => {
      if (existsSync(path)) expect(readFileSync(join(path, 'precious'), 'utf8')).toBe(`${point}`)
      expect(own.remove(path)).toMatchObject({ code: 0, stderr: expect.stringContaining('trash') as unknown })
      expect(existsSync(path)).toBe(false)
      const trashed = JSON.parse(own.place.aw('list', '--trashed', '--json').stdout) as { id: string }[]
      expect(trashed).toHaveLength(1)
      expect(own.place.aw('undelete', trashed[0]?.id ?? '').code).toBe(0)
      expect(readFileSync(join(path, 'precious'), 'utf8')).toBe(`${point}`)
      expect(own.place.aw('destroy', trashed[0]?.id ?? '', '--purge').code).toBe(0)
    },
  )
  expect(times).toBeGreaterThan(0)
}, 300_000)
