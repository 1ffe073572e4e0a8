import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { place, type Place, type Ran } from '../cli/built-command.ts'
import { letGo } from '../storage/unmount-below.ts'

const hundred = Array.from({ length: 100 }, (_, i) => `one-${i}`)
let at: Place | undefined

afterEach(() => {
  if (at !== undefined) letGo(at.folder)
  at?.[Symbol.dispose]()
})

async function ended(place: Place, ...args: readonly string[]): Promise<Pick<Ran, 'code' | 'stderr'>> {
  const child = place.start(...args)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  child.stdout.resume()
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stderr }
}

/** All at once, however few processors there are: each waits until it is its turn. */
it.each(['dir', 'overlay'])('a hundred commands that start at once make a hundred workspaces on %s', async (driver) => {
  const here = (at = place())
  const repository = join(here.folder, 'repository')
  mkdirSync(repository)
  for (let i = 0; i < 300; i++) writeFileSync(join(repository, `file-${i}`), `${i}\n`)
  const commit = 'git add . && git -c user.name=x -c user.email=x@localhost commit --quiet --message one'
  expect(here.sh(`cd repository && git init --quiet && ${commit}`)).toMatchObject({ code: 0 })
  expect(here.aw('init', '--storage', driver)).toMatchObject({ code: 0 })
  const told = await Promise.all(hundred.map((id) => ended(here, 'create', id, '--repo', repository)))
  expect(told.filter(({ code }) => code !== 0)).toEqual([])
  const made = JSON.parse(here.aw('list', '--json').stdout) as { state: string }[]
  expect(made.filter(({ state }) => state === 'ready')).toHaveLength(hundred.length)
  expect(here.aw('recover').stdout).toContain('Nothing to recover')
})
