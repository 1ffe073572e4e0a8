import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { verifyArchive } from '../../src/drivers/archives/archive/inspect.ts'
import type { CrashHome } from './home.ts'
import { byLabel, expectUndeletable, make, need, thereOrInTrash, type Swept } from './sweep.ts'

/** Its time is over. */
async function makeExpired(crash: CrashHome, id: string): Promise<Outputs['show']> {
  const { id: made } = await make(crash, id)
  return crash.manager.call('ttl', { id: made, duration: '0s' })
}

/** It is in the trash for that, and is to be packed before it goes. */
async function makeForArchive(crash: CrashHome, id: string): Promise<Outputs['show']> {
  writeFileSync(join(crash.home, 'aw.toml'), '[archive]\nbefore_expiry = true\n')
  const { id: made } = await makeExpired(crash, id)
  await crash.manager.call('gc', {})
  return crash.manager.call('show', { id: made })
}

export const expiryOperations: Readonly<Record<string, Swept>> = {
  ttl: {
    prepare: make,
    input: (_crash, id) => ({ id, duration: '12h' }),
    touch: byLabel,
    async check(crash, _name, before, done) {
      const { id, created_at } = need(before).view
      const now = await crash.manager.call('show', { id })
      expect(now).toMatchObject({ state: 'ready', created_at })
      if (done) expect(now.expires_at).not.toBeNull()
      await crash.manager.call('destroy', { id, purge: true })
    },
  },
  'gc of what expired': {
    calls: 'gc',
    prepare: makeExpired,
    input: () => ({}),
    touch: byLabel,
    check: thereOrInTrash('trashed'),
  },
  'gc into an archive': {
    calls: 'gc',
    prepare: makeForArchive,
    input: () => ({ older_than: '0s' }),
    touch: (_name, before) => ['undelete', { id: need(before).view.id }],
    async check(crash, _name, before, done) {
      const { id } = need(before).view
      const { state, archives } = await crash.manager.call('show', { id })
      if (done) expect([state, archives.length]).toEqual(['purged', 1])
      for (const { path, bytes } of archives) {
        expect(existsSync(path)).toBe(true)
        expect(await verifyArchive(path)).toMatchObject({ verified: true, header: { workspace: id } })
        expect(bytes).toBeGreaterThan(0)
      }
      if (state === 'purged') return expect(archives).toHaveLength(1)
      if (state === 'ready') await crash.manager.call('destroy', { id })
      await expectUndeletable(crash, need(before))
    },
  },
}
