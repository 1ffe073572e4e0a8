import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../test/attacks/workspace.ts'
import { openManager } from '../../aw.ts'
import { toAwError } from '../../domain/errors.ts'
import { openRoot } from './index.ts'

describe.each(['openat2', 'walk'] as const)('the root itself, by %s', (resolver) => {
  const ws = useWorkspace({ resolver })

  test.each(['', '/', '/.'])('is not reached by a link in its place, %j behind it', (end) => {
    ws.put('file', 'content')
    fs.symlinkSync(ws.path(), join(ws.base, 'link'))
    expect(codeOf(() => openRoot(join(ws.base, 'link') + end, { resolver }))).toBe('path_outside_workspace')
  })

  test('is reached through links on the way', () => {
    ws.put('file', 'content')
    fs.symlinkSync(ws.base, join(ws.base, 'link'))
    using files = openRoot(join(ws.base, 'link/ws'), { resolver })
    expect(files.read('file').toString()).toBe('content')
  })
})

test('a link in the place of a workspace: neither files nor metadata are written to what it leads to', async () => {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-place-'))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  const manager = await openManager({ home: join(base, 'home'), env: {} })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  const { path } = await manager.call('create', { id: 'a' })
  const volume = fs.realpathSync.native(path)
  fs.renameSync(volume, join(base, 'away'))
  fs.mkdirSync(join(base, 'elsewhere'))
  fs.symlinkSync(join(base, 'elsewhere'), volume)
  const failure = async (call: () => Promise<unknown>): Promise<string> =>
    call().then(
      () => 'ok',
      (error: unknown) => toAwError(error).code,
    )
  const content = Buffer.from('x')
  expect(await failure(() => manager.call('fs write', { id: 'a', path: 'new', content }))).toBe(
    'path_outside_workspace',
  )
  expect(await failure(() => manager.call('fs list', { id: 'a', path: '' }))).toBe('path_outside_workspace')
  await failure(() => manager.call('rename', { id: 'a', to: 'b' }))
  await failure(() => manager.call('recover', {}))
  expect(fs.readdirSync(join(base, 'elsewhere'))).toEqual([])
})
