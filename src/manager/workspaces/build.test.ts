import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openManager } from '../../aw.ts'
import type { Manager } from '../../ports/manager.ts'

/** What a source or an agent has put where aw puts something too. */

let base: string
let manager: Manager
beforeEach(async () => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-build-'))
  for (const name of ['project', 'elsewhere']) fs.mkdirSync(join(base, name))
  manager = await openManager({ home: join(base, 'home'), env: {} })
})
afterEach(async () => {
  await manager[Symbol.asyncDispose]()
  fs.rmSync(base, { recursive: true, force: true })
})

const project = (name = ''): string => join(base, 'project', name)
const create = () =>
  manager.call('create', {
    id: 'a',
    profile: 'repo',
    from: { folder: project() },
    config: { claude_md: 'be nice, à\u00a0' },
  })

describe('an agent file of the source', () => {
  it('that is not UTF-8 is kept byte for byte', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x41, 0x00, 0xe9, 0x80, 0x0d, 0x0a])
    fs.writeFileSync(project('CLAUDE.md'), bytes)
    const { path } = await create()
    const found = fs.readFileSync(join(path, 'CLAUDE.md'))
    expect(found.subarray(0, bytes.length).equals(bytes)).toBe(true)
    expect(found.toString('utf8')).toContain('be nice, à\n')
    expect(fs.readFileSync(join(path, 'AGENTS.md'), 'utf8')).toContain('be nice')
  })

  it.each([
    [
      'a link that leads out',
      'symlink_outside_workspace',
      () => fs.symlinkSync(join(base, 'elsewhere/x'), project('CLAUDE.md')),
    ],
    ['a link to itself', 'cannot_resolve_symlinks', () => fs.symlinkSync('CLAUDE.md', project('CLAUDE.md'))],
    ['a directory', 'not_a_file', () => fs.mkdirSync(project('CLAUDE.md'))],
  ])('that is %s is left as it is, and reported', async (_, reason, make) => {
    fs.writeFileSync(join(base, 'elsewhere/x'), 'not ours')
    make()
    const { path, imported } = await create()
    expect(imported).toMatchObject({ skipped: 0, untouched_paths: [{ path: 'CLAUDE.md', reason }] })
    expect(fs.lstatSync(join(path, 'CLAUDE.md')).isFile()).toBe(false)
    expect(fs.readFileSync(join(path, 'AGENTS.md'), 'utf8')).toContain('be nice')
    expect(fs.readFileSync(join(base, 'elsewhere/x'), 'utf8')).toBe('not ours')
  })

  it('that is huge is left as it is, and reported', async () => {
    fs.writeFileSync(project('CLAUDE.md'), Buffer.alloc(2 ** 20 + 1, 'x'))
    const { path, imported } = await create()
    expect(imported).toMatchObject({ skipped: 0, untouched_paths: [{ path: 'CLAUDE.md', reason: 'file_too_large' }] })
    expect(fs.statSync(join(path, 'CLAUDE.md')).size).toBe(2 ** 20 + 1)
  })

  it('that is a link to the other is written once', async () => {
    fs.writeFileSync(project('CLAUDE.md'), 'mine\n')
    fs.symlinkSync('CLAUDE.md', project('AGENTS.md'))
    const { path } = await create()
    expect(fs.lstatSync(join(path, 'AGENTS.md')).isSymbolicLink()).toBe(true)
    expect(fs.readFileSync(join(path, 'CLAUDE.md'), 'utf8').match(/aw:begin/g)).toHaveLength(1)
  })
})

describe('a tree from the trash comes back as it was', () => {
  it.each([
    ['a link', (work: string) => fs.symlinkSync(join(base, 'elsewhere'), work)],
    ['a file', (work: string) => fs.writeFileSync(work, 'mine')],
    ['nothing', () => undefined],
  ])('with %s in the place of its work directory', async (_, make) => {
    const { path } = await manager.call('create', { id: 'a', config: { git_config: { enabled: true } } })
    const work = join(path, 'work')
    fs.rmSync(work, { recursive: true })
    make(work)
    const before = fs.lstatSync(work, { throwIfNoEntry: false })
    const reset = await manager.call('reset', { id: 'a' })
    const back = await manager.call('undelete', { id: reset.trash[0]?.tree ?? '', as: 'b' })
    const after = fs.lstatSync(join(back.path, 'work'), { throwIfNoEntry: false })
    expect([after?.isSymbolicLink(), after?.isFile()]).toEqual([before?.isSymbolicLink(), before?.isFile()])
    expect(fs.readdirSync(join(base, 'elsewhere'))).toEqual([])
  })
})
