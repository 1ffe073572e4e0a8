/** What an archive may not bring along unless it is trusted: rights, and what belongs to another machine. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { packTree } from '../../../src/drivers/archives/archive/pack.ts'
import { unpackArchive } from '../../../src/drivers/archives/archive/unpack.ts'
import { isRoot } from '../../contracts/storage/host.ts'
import { newPlace, type Place } from './fixture.ts'
import { directory, entry, file, hardlink, symlink, tarOf } from './tar.ts'

let place: Place
beforeEach(() => {
  place = newPlace()
})
afterEach(() => place[Symbol.dispose]())

const into = (): string => {
  const path = join(place.base, 'into-here')
  fs.mkdirSync(path)
  return path
}

function write(archive: Buffer): string {
  const path = join(place.base, 'archive')
  fs.writeFileSync(path, archive)
  return path
}

describe.each(isRoot ? ['root'] : [])('as %s', () => {
  it('owners and setuid bits are the importer’s, and tar takes them over', async () => {
    const archive = tarOf(entry({ name: 'sh', mode: 0o6755, uid: 12345, gid: 54321, content: '#!' }))
    const path = into()
    const told = await unpackArchive(write(archive), path, { trusted: false })
    expect(told).toMatchObject({ skipped: [], reduced: [{ path: 'sh', reason: 'setuid' }] })
    expect(fs.statSync(join(path, 'sh'))).toMatchObject({ mode: 0o100755, uid: 0, gid: 0 })
    const byTar = join(place.base, 'into-tar')
    fs.mkdirSync(byTar)
    execFileSync('tar', ['-xf', join(place.base, 'archive'), '-C', byTar])
    expect(fs.statSync(join(byTar, 'sh'))).toMatchObject({ mode: 0o106755, uid: 12345, gid: 54321 })
  })

  it('a device is left out, and tar makes it', async () => {
    const archive = tarOf(
      entry({ name: 'disk', type: '4', major: 7, minor: 200 }),
      hardlink('other', 'disk'),
      file('x'),
    )
    expect(place.plainTar(archive).tree['disk']).toBe('special')
    const { tree, skipped } = await place.unpack(archive)
    expect(tree).toEqual({ x: 'x' })
    expect(skipped).toEqual([
      { path: 'disk', reason: 'device' },
      { path: 'other', reason: 'device' },
    ])
  })

  it('a whiteout is left out where it would hide something, also of a trusted one', async () => {
    const archive = write(tarOf(entry({ name: 'gone', type: '3', major: 0, minor: 0 }), file('x')))
    const told = await unpackArchive(archive, into(), { trusted: true, whiteouts: 'omit' })
    expect(told).toMatchObject({ files: 1, skipped: [{ path: 'gone', reason: 'device' }] })
    fs.rmSync(join(place.base, 'into-here'), { recursive: true })
    expect(await unpackArchive(archive, into(), { trusted: true })).toMatchObject({ files: 2, skipped: [] })
    expect(fs.lstatSync(join(place.base, 'into-here/gone')).isCharacterDevice()).toBe(true)
  })

  it('attributes of root are dropped, those of users are kept', async () => {
    const tree = join(place.base, 'into-tree')
    fs.mkdirSync(tree)
    fs.writeFileSync(join(tree, 'f'), 'x')
    const names = { 'user.note': 'mine', 'trusted.note': 'theirs' }
    for (const [name, value] of Object.entries(names))
      execFileSync('setfattr', ['-n', name, '-v', value, join(tree, 'f')])
    execFileSync('setfattr', ['-n', 'security.capability', '-v', `0x${capability}`, join(tree, 'f')])
    const archive = join(place.base, 'archive')
    await packTree(tree, archive, { header: {} })
    const path = into()
    const { reduced } = await unpackArchive(archive, path, { trusted: false })
    expect(reduced.map(({ reason }) => reason).toSorted()).toEqual([
      'attribute security.capability',
      'attribute trusted.note',
    ])
    const kept = execFileSync('getfattr', ['-d', '-m', '-', join(path, 'f')], { encoding: 'utf8' })
    expect(kept.match(/^\S+=/gm)).toEqual(['user.note='])
  })
})

it('what an overlay would understand as its own is dropped', async () => {
  const archive = tarOf(entry({ name: 'f', pax: { 'SCHILY.xattr.user.overlay.opaque': 'y' } }))
  expect(await place.unpack(archive)).toMatchObject({
    tree: { f: '' },
    reduced: [{ path: 'f', reason: 'attribute user.overlay.opaque' }],
  })
})

/** cap_net_raw, as the kernel keeps it. */
const capability = '0100000200200000000000000000000000000000'

it('an ACL that is told as text is reported', async () => {
  const archive = tarOf(
    entry({ name: 'f', pax: { 'SCHILY.acl.access': 'user::rw-,user:root:rwx,group::r--,other::r--' } }),
  )
  expect(await place.unpack(archive)).toMatchObject({ tree: { f: '' }, reduced: [{ path: 'f', reason: 'acl' }] })
})

it('the top can be used whatever its mode is said to be', async () => {
  const path = into()
  await unpackArchive(write(tarOf(entry({ name: './', type: '5', mode: 0 }), file('x'))), path, { trusted: false })
  expect(fs.statSync(path).mode & 0o777).toBe(0o700)
  expect(fs.readFileSync(join(path, 'x'), 'utf8')).toBe('x')
})

it('links that lead out are made, and nothing is done to what they lead to', async () => {
  const archive = tarOf(symlink('l', '../outside/secret'), symlink('m', place.outside))
  expect((await place.unpack(archive)).tree).toEqual({ l: '-> ../outside/secret', m: `-> ${place.outside}` })
  expect(place.isUntouched()).toBe(true)
})

it('a path that is not accepted is left out, with all below it and other names of it', async () => {
  const archive = tarOf(
    directory('.aw'),
    file('.aw/meta'),
    file('protected/deep/file'),
    file('x'),
    hardlink('y', '.aw/meta'),
    hardlink('protected/z', 'x'),
  )
  const protect = (path: string): string | undefined =>
    path === '.aw' || path === 'protected' ? 'protected' : undefined
  const { tree, skipped } = await place.unpack(archive, { accept: protect })
  expect(tree).toEqual({ x: 'x' })
  expect(skipped.map(({ path, reason }) => `${path}: ${reason}`)).toEqual([
    '.aw: protected',
    '.aw/meta: protected',
    'protected/deep/file: protected',
    'y: protected',
    'protected/z: protected',
  ])
})

it('whoever accepts paths can refuse the whole', async () => {
  const archive = tarOf(file('a'), file('b'))
  const refuse = (): never => {
    throw new Error('not this one')
  }
  await expect(place.unpack(archive, { accept: refuse })).rejects.toThrow('not this one')
})

it('a directory that is not empty is not unpacked into', async () => {
  const path = into()
  fs.writeFileSync(join(path, 'x'), 'mine')
  const unpacking = unpackArchive(write(tarOf(file('x', 'theirs'))), path, { trusted: false })
  await expect(unpacking).rejects.toMatchObject({ code: 'directory_not_empty' })
  expect(fs.readFileSync(join(path, 'x'), 'utf8')).toBe('mine')
})
