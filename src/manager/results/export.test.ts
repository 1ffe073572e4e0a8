import { expect, it } from 'vitest'
import { memoryCore } from '../../../test/memory/core.ts'

it.each([
  ['file', { file: 'work.tar' }],
  ['file', { file: 'work.patch', patch: true }],
  ['bundle', { bundle: '../work.bundle' }],
  ['repo', { branch: 'result', repo: '.' }],
])('%s of an export is an absolute path: %j', async (field, where) => {
  await using manager = memoryCore().manager
  await manager.call('create', { id: 'a' })
  await expect(manager.call('export', { of: 'a', ...where })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining(`${field} must be an absolute path`) as unknown,
    data: { field },
  })
  expect(await manager.call('snapshots', { id: 'a' })).toEqual([])
})

it('the file of an import is an absolute path', async () => {
  await using manager = memoryCore().manager
  await expect(manager.call('import', { file: 'package.json', id: 'a' })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('file must be an absolute path') as unknown,
    data: { field: 'file' },
  })
})
