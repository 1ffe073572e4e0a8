import * as fs from 'node:fs'
import { expect } from 'vitest'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import { startProgram } from '../../support/program.ts'
import { addCommit, makePlace, makeSource, treeIn, type Place } from './fixture.ts'
import { serveHttps } from './servers.ts'

/** What a process is killed at: the making of a mirror, its update, or a clone of a path. */
export const swept = ['made', 'updated', 'path'] as const

interface Sweep {
  readonly what: (typeof swept)[number]
  readonly shallow: boolean
  /** Of how many points one is tried. */
  readonly step: number
}

/** Kills a process before each step that changes something; the next one makes a whole clone each time. */
export async function sweep({ what, shallow, step }: Sweep): Promise<number> {
  await using place = makePlace()
  const source = makeSource(place, 'served/widget', { a: '1' }, { b: '2' })
  const server = await serveHttps(place, { directory: place.path('served') })
  place.configure('http.sslCAInfo', server.certificate)
  const url = what === 'path' ? source : `${server.site}/widget`
  const clone = (): Promise<void> => expectClone(place, source, url, shallow)
  if (what === 'updated') await clone()
  for (let point = 1; ; point += step) {
    if (what === 'made') fs.rmSync(place.path('mirrors'), { recursive: true, force: true })
    if (what === 'updated') addCommit(place, source, { [`new-${point}`]: 'x' }, 'more')
    const args = [place.path('mirrors'), url, '-', String(shallow), place.empty()]
    const { signal } = await startProgram('git-clone.ts', args, { AW_CRASH_AT: String(point) }).ended
    if (signal !== 'SIGKILL') return await finish(point)
    try {
      await clone()
    } catch (error) {
      throw new Error(`killed at point ${point}`, { cause: error })
    }
  }

  /** What killed processes had begun is gone once somebody has fetched again. */
  async function finish(point: number): Promise<number> {
    addCommit(place, source, { last: 'x' }, 'last')
    await clone()
    expect(fs.readdirSync(place.path('mirrors')).filter((name) => name.endsWith('.new'))).toEqual([])
    return point
  }
}

async function expectClone(place: Place, source: string, url: string, shallow: boolean): Promise<void> {
  const repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  const into = place.empty()
  await repositories.clone({ url, resolved: await repositories.resolve({ url, ref: null }), shallow, into })
  expect(treeIn(into)).toEqual(treeIn(source))
  expect(place.git(into, 'status', '--porcelain')).toBe('')
  expect(place.git(into, 'fsck', '--full', '--strict', '--no-dangling')).toBe('')
}
