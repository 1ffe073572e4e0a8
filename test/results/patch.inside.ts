import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeOf, openGround } from '../sources/fixture.ts'
import { git, gitBytes, seeded, treeHere, type Random } from './fixture.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

const names = [
  'a',
  'b c',
  '-d',
  'e"f',
  'g\\h',
  'i\tj',
  'k\nl',
  'm\xffn',
  Buffer.from('ö').toString('latin1'),
  '.hidden',
  'x y ',
]

function content(random: Random): Buffer {
  const lines = Array.from(
    { length: random.below(40) },
    () => `line ${random.below(12)}${random.below(9) === 0 ? '\r' : ''}\n`,
  )
  const text = lines.join('')
  const kind = random.below(8)
  if (kind === 0) return Buffer.alloc(0)
  if (kind === 1) return Buffer.from(`${text}\0${text}`)
  if (kind === 2) return Buffer.from(Array.from({ length: 300 }, () => random.below(256)))
  if (kind === 3) return Buffer.from(`${text}no newline`)
  if (kind === 4) return bytes(`${text}\xff\xfe\n`)
  return Buffer.from(text)
}

/** Adds, changes, removes, renames, replaces by something of another kind. */
function mutate(top: string, random: Random, steps: number): void {
  const at = (path: string): Buffer => Buffer.concat([Buffer.from(`${top}/`), bytes(path)])
  for (let step = 0; step < steps; step++) {
    const name = random.from(names)
    const path = random.below(3) === 0 ? `${random.from(names)}/${name}` : name
    const holder = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined
    if (holder !== undefined && !fs.lstatSync(at(holder), { throwIfNoEntry: false })?.isDirectory()) {
      fs.rmSync(at(holder), { force: true })
      fs.mkdirSync(at(holder))
    }
    const found = fs.lstatSync(at(path), { throwIfNoEntry: false })
    if (random.below(3) === 0 && found?.isFile()) {
      fs.appendFileSync(at(path), content(random))
      continue
    }
    if (random.below(5) === 0 && found !== undefined) {
      const to = random.from(names)
      if (fs.lstatSync(at(to), { throwIfNoEntry: false }) === undefined) {
        fs.renameSync(at(path), at(to))
        continue
      }
    }
    fs.rmSync(at(path), { recursive: true, force: true })
    const kind = random.below(6)
    if (kind === 0) fs.symlinkSync(random.from(['always', '../../etc/passwd', 'gone', 'x'.repeat(200)]), at(path))
    else if (kind < 5) fs.writeFileSync(at(path), content(random), { mode: random.below(3) === 0 ? 0o755 : 0o644 })
  }
}

it('git makes of the beginning and the patch what the workspace is, exactly', { timeout: 120_000 }, async () => {
  const { aw, base } = await openGround()
  const random = seeded()
  const repo = join(base, 'repository')
  fs.mkdirSync(repo)
  git(repo, ['init', '-q'])
  fs.writeFileSync(join(repo, 'always'), 'here\n')
  mutate(repo, random, 25)
  git(repo, ['add', '--all'])
  git(repo, ['commit', '-q', '-m', 'first'])
  const { path } = await aw.create({ id: 'task', repo })
  const [work, check] = [join(path, 'work'), join(base, 'check')]
  git(base, ['clone', '-q', repo, check])
  for (let round = 0; round < 12; round++) {
    mutate(work, random, 8)
    execFileSync('rm', ['-rf', join(base, 'files')])
    execFileSync('cp', ['-a', work, join(base, 'files')])
    fs.rmSync(join(base, 'files', '.git'), { recursive: true })
    git(join(base, 'files'), ['init', '-q'])
    const wanted = treeHere(join(base, 'files'))
    const told = await aw.export({ of: 'task', patch: true })
    git(check, ['reset', '-q', '--hard', 'main'])
    git(check, ['clean', '-q', '-fdx'])
    if (told.files > 0)
      gitBytes(check, ['apply', '--whitespace=nowarn'], { input: Buffer.from(told.patch as Uint8Array) })
    expect([random.seed, round, treeHere(check)]).toEqual([random.seed, round, wanted])
  }
})

it('is against the beginning, or a snapshot; of nothing it is empty', { timeout: 60_000 }, async () => {
  const { aw, base } = await openGround()
  const folder = join(base, 'folder')
  fs.mkdirSync(folder)
  fs.writeFileSync(join(folder, 'a'), 'a\n')
  const { path } = await aw.create({ id: 'task', from: { folder } })
  const patchOf = async (more: object = {}): Promise<string> => {
    const { patch } = await aw.export({ of: 'task', patch: true, ...more })
    return Buffer.from(patch as Uint8Array).toString()
  }
  expect(await patchOf()).toBe('')
  await aw.snapshot('task', { label: 'first' })
  fs.writeFileSync(join(path, 'work', 'b'), 'b\n')
  await aw.snapshot('task', { label: 'second' })
  fs.writeFileSync(join(path, 'work', 'c'), 'c\n')
  const names = async (more: object): Promise<string[]> =>
    [...(await patchOf(more)).matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, name = '']) => name)
  expect(await names({ since: 'first' })).toEqual(['b', 'c'])
  expect(await names({ since: 'second' })).toEqual(['c'])
  expect(await names({ of: 'task@second', since: 'first' })).toEqual(['b'])
  expect(await names({})).toEqual(['b', 'c'])
  const changed = await aw.create({ id: 'changed', from: { folder } })
  fs.writeFileSync(join(changed.path, 'work', 'b'), 'b\n')
  expect(await names({ of: 'changed' })).toEqual(['b'])
  const file = join(base, 'a patch')
  expect(await aw.export({ of: 'task', patch: true, since: 'first', file })).toMatchObject({ file, files: 2 })
  expect(fs.readFileSync(file, 'utf8')).toBe(await patchOf({ since: 'first' }))
  expect(await codeOf(aw.export({ of: 'task', patch: true, since: 'first', file }))).toBe('file_exists')
  const { path: other } = await aw.create({ id: 'empty' })
  fs.writeFileSync(join(other, 'work', 'x'), 'x\n')
  expect(await names({ of: 'empty' })).toEqual(['x'])
  const wrong = [
    {},
    { file, patch: true, bundle: file },
    { patch: true, branch: 'x', repo: base },
    { branch: 'x' },
    { branch: 'x', repo: base, file },
  ]
  for (const one of [
    ...wrong,
    { bundle: file, file },
    { file, since: 'first' },
    { patch: true, squash: true },
    { file: '-' },
  ])
    expect([one, await codeOf(aw.export({ of: 'task', ...one }))]).toEqual([one, 'invalid_input'])
})
