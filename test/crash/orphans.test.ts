import { cpSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeId } from '../../src/domain/ids.ts'
import type { Tree } from '../support/tree.ts'
import { make, sampled, sweep, workOf, type Swept } from './sweep.ts'

/** As in `build.test.ts`, for a tree that the log does not know: it is never erased, and never in two places. */
it('taking a tree that the log does not know can be killed at any point', { timeout: 600_000 }, async () => {
  const trees = new Map<string, { place: string; tree: Tree }>()
  const input = (name: string): object => ({ id: trees.get(name)?.place, as: name })
  const swept: Swept = {
    calls: 'recover',
    async prepare(crash, name) {
      const { id, path } = await make(crash, `${name}-first`)
      const tree = workOf(path)
      const unknown = makeId('ws', trees.size, Buffer.alloc(10))
      const volumes = join(crash.home, 'storage/volumes')
      cpSync(join(volumes, id), join(crash.home, unknown), { recursive: true, preserveTimestamps: true })
      await crash.manager.call('destroy', { id, purge: true })
      renameSync(join(crash.home, unknown), join(volumes, unknown))
      trees.set(name, { place: `volumes/${unknown}`, tree })
      return undefined
    },
    input: (_crash, name) => input(name),
    touch: (name) => ['recover', input(name)],
    async check(crash, name) {
      const view = await crash.manager.call('show', { id: name })
      expect(view.state).toBe('ready')
      expect(workOf(view.path)).toEqual(trees.get(name)?.tree)
      await crash.manager.call('destroy', { id: view.id })
      await crash.manager.call('undelete', { id: view.id })
      await crash.manager.call('destroy', { id: view.id, purge: true })
    },
  }
  const points = await sweep('take', swept, {
    ...sampled(3),
    async recovery(crash, point, touch) {
      if (point % 2 === 0) expect((await crash.tell('recover', {})).error).toBeUndefined()
      // It is there already, or it is still unknown.
      const { error } = await touch()
      if (error !== undefined) expect(error).toMatchObject({ code: 'workspace_not_found' })
    },
  })
  console.log(`take: ${points} points`)
  expect(points).toBeGreaterThan(5)
})
