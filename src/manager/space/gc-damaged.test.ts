import { chmodSync, globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'

const content = 'what somebody wrote'

async function withDamage() {
  const home = mkdtempSync(join(tmpdir(), 'aw-gc-damaged-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const manager = await openManager({ home, env: {}, set: { 'storage.driver': 'dir' } })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content })
  await manager.call('snapshot', { id: 'a' })
  const [object = ''] = globSync(join(home, 'storage/objects/**/*'), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  chmodSync(object, 0o600)
  writeFileSync(object, 'x'.repeat(content.length))
  expect(await manager.call('verify', {})).toMatchObject({ intact: false })
  return { manager, aside: join(home, 'storage/damaged') }
}

it('what was put aside as damaged stays as long as the trash, and goes with it', async () => {
  const { manager, aside } = await withDamage()
  const [name] = readdirSync(aside)
  expect(await manager.call('gc', {})).toMatchObject({ items: [] })
  const one = { kind: 'damaged', action: 'erase', tree: name, workspace: null, bytes: content.length }
  const reason = expect.stringMatching(/^found damaged .* ago; trash is kept for 0 seconds$/) as string
  const planned = await manager.call('gc', { plan: true, older_than: '0s' })
  expect(planned).toMatchObject({ items: [{ ...one, reason }], bytes: content.length })
  expect(readdirSync(aside)).toEqual([name])
  expect(await manager.call('gc', { older_than: '0s' })).toMatchObject({ items: [{ ...one, error: null }] })
  expect(readdirSync(aside)).toEqual([])
  expect(await manager.call('gc', { older_than: '0s' })).toMatchObject({ items: [] })
  // The snapshot that needs it is damaged as before.
  expect(await manager.call('verify', {})).toMatchObject({ intact: false })
})
