import { expect, test } from 'vitest'
import { collect } from '../../test/support/collect.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { limited } from './limited.ts'

const places = { home: '/home', basePath: '/workspaces', storageRoot: '/storage' }
const facts = { places, isolation: 'namespace', mount: { setting: '/workspace', isSet: false } }

test('what is asked of a run is told of that run, and nothing of those out of reach', async () => {
  const { manager } = memoryCore()
  await using _ = manager
  const runs: Record<string, string> = {}
  for (const [id, word] of [
    ['mine', 'first'],
    ['mine', 'second'],
    ['other', 'third'],
  ] as const) {
    const items = await collect(manager.stream('run', { id, argv: ['echo', word] }))
    runs[word] = items.at(-1)?.run?.run ?? ''
  }
  const they = limited(manager, { actor: 'token:tok_x', scopes: ['read', 'run'], workspaces: ['mine/main'] }, facts)
  const logged = async (id: string): Promise<string> =>
    Buffer.concat(
      (await collect(they.stream('logs', { id }))).map(({ data }) => Buffer.from(data as Uint8Array)),
    ).toString()
  expect(await logged(runs['first'] ?? '')).toBe('first\n')
  expect(await logged('mine')).toBe('second\n')
  expect(await they.call('wait', { id: runs['first'] ?? '' })).toMatchObject({ run: runs['first'], number: 1 })
  await expect(logged(runs['third'] ?? '')).rejects.toMatchObject({ code: 'workspace_not_found' })
  await expect(they.call('wait', { id: runs['third'] ?? '' })).rejects.toMatchObject({ code: 'workspace_not_found' })
})
