/** Archives that were made to do harm. Each is given to plain tar too: what it does shows what the case is worth. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attacks } from './attacks.ts'
import { newPlace, type Place } from './fixture.ts'

let place: Place
beforeEach(() => {
  place = newPlace()
})
afterEach(() => place[Symbol.dispose]())

describe.each(attacks)('$name', ({ archive, aw, tar, tarAmongOthers }) => {
  it('is no danger to aw', async () => {
    const unpacking = place.unpack(archive(place))
    if (typeof aw === 'string')
      await expect(unpacking).rejects.toMatchObject({ code: 'source_failed', data: { reason: aw } })
    else expect((await unpacking).tree).toEqual(aw)
    expect(place.isUntouched()).toBe(true)
  })

  it('does this with tar', () => {
    const { status, tree } = place.plainTar(archive(place))
    const told = Object.fromEntries(
      Object.entries(tree).map(([path, what]) => [path, what.replace(place.outside, 'OUTSIDE')]),
    )
    expect([tar, tarAmongOthers]).toContainEqual([status, told])
    expect(place.isUntouched()).toBe(true)
  })
})
