import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Edit } from '../../support/edits.ts'
import { edit } from '../../support/random-storage.ts'
import { code, staged, volume, type OpenStorage } from '../storage.ts'
import { base, settle, withFolder } from './folder-bases.ts'
import { sample } from './trees.ts'

const at = 1_600_000_000

/** The import of a folder that was imported before equals one of all of it, whatever has changed. */
export function importUpdateContract(open: OpenStorage): void {
  const cases: Readonly<Record<string, readonly Edit[]>> = {
    nothing: [],
    'a file that was written to': [{ do: 'append', path: 'd/e/f', content: 'er' }],
    'a file with the same size and time': [{ do: 'forge', path: 'd/e/f', content: 'peed' }],
    'a new file, and one that went': [
      { do: 'write', path: 'd/new', content: 'new' },
      { do: 'remove', path: 'x' },
    ],
    'modes and times': [
      { do: 'chmod', path: 'x', mode: 0o4711 },
      { do: 'chmod', path: 'd/e', mode: 0o500 },
      { do: 'touch', path: 'd/empty', mtime: at - 5 },
      { do: 'touch', path: 'a', mtime: at - 6 },
    ],
    'a directory that became a file, a file that became a directory': [
      { do: 'remove', path: 'd/e' },
      { do: 'write', path: 'd/e', content: 'file' },
      { do: 'remove', path: 'x' },
      { do: 'mkdir', path: 'x' },
      { do: 'write', path: 'x/y', content: 'z' },
    ],
    'links that became something else, and lead elsewhere': [
      { do: 'remove', path: 'l' },
      { do: 'mkdir', path: 'l' },
      { do: 'remove', path: 'd/empty' },
      { do: 'symlink', path: 'd/empty', target: '../../..' },
    ],
    'names that were exchanged': [
      { do: 'rename', path: 'x', to: 'y' },
      { do: 'rename', path: 'd/e/f', to: 'x' },
      { do: 'rename', path: 'y', to: 'd/e/f' },
    ],
    'a directory that was moved': [
      { do: 'rename', path: 'd/e', to: 'moved' },
      { do: 'append', path: 'moved/f', content: '!' },
    ],
    'another name for a file with two': [{ do: 'link', path: 'd/third', to: 'a' }],
    'one name less': [{ do: 'remove', path: 'a' }],
    'a file of two names that became two files': [
      { do: 'remove', path: 'b' },
      { do: 'write', path: 'b', content: 'one\n' },
    ],
    'two files that became one': [
      { do: 'remove', path: 'x' },
      { do: 'link', path: 'x', to: 'd/e/f' },
    ],
    'a file of two names with other content of the same length': [{ do: 'forge', path: 'b', content: 'two\n' }],
    'what is no file': [
      { do: 'remove', path: 'x' },
      { do: 'fifo', path: 'x' },
    ],
    'everything gone': Object.keys(sample)
      .filter((path) => !path.includes('/'))
      .map((path) => ({ do: 'remove', path })),
  }

  it.each(Object.entries(cases))('finds %s', async (_, edits) => {
    const subject = await open()
    const bases = await withFolder(subject, sample)
    await settle()
    await bases.renew()
    subject.editFolder(bases.folder, ...edits)
    await bases.renew()
    await settle()
    await bases.renew()
    // Where it can be told, nothing has changed from then on.
    expect((await bases.renew()).changed ?? 0).toBe(0)
  })

  it('finds a change in the same tick of the clock', async () => {
    const subject = await open()
    const bases = await withFolder(subject, { f: { kind: 'file', content: '0', mtime: at } })
    for (let round = 1; round < 8; round++) {
      subject.editFolder(bases.folder, { do: 'forge', path: 'f', content: `${round}` })
      await bases.renew()
    }
    expect(bases.count()).toBe(7)
  })

  it('finds whatever has changed', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.record({ edits: fc.array(edit, { maxLength: 12 }), waits: fc.boolean() }), { maxLength: 4 }),
      async (rounds) => {
        const subject = await open()
        const bases = await withFolder(subject, sample)
        for (const { edits, waits } of [{ edits: [], waits: true }, ...rounds]) {
          for (const each of edits) attempt(() => subject.editFolder(bases.folder, each))
          if (waits) await settle()
          await bases.renew()
        }
      },
    )
    await fc.assert(property, { numRuns: 12, includeErrorInReport: true })
  }, 120_000)

  it('leaves out what is excluded, and finds what is so no more', async () => {
    const subject = await open()
    const bases = await withFolder(subject, sample)
    await settle()
    expect(await bases.renew({ exclude: ['d/', '/x'] })).toMatchObject({ excluded: 2 })
    expect(await bases.renew({ exclude: ['d/e', 'a'] })).toMatchObject({ excluded: 2 })
    expect(await bases.renew({ exclude: ['*'] })).toMatchObject({ files: 0, excluded: 5 })
    expect((await bases.renew()).excluded).toBeUndefined()
  })

  it('leaves out what git ignores, as far as it is not listed', async () => {
    const subject = await open()
    const file = (content = ''): { kind: 'file'; content: string; mtime: number } => ({
      kind: 'file',
      content,
      mtime: at,
    })
    const bases = await withFolder(subject, {
      '.gitignore': file('out/\n.env\n*.log\n'),
      '.worktreeinclude': file('.env\n/out/deep/kept\n'),
      '.env': file('secret'),
      'a.log': file(),
      out: { kind: 'directory' },
      'out/built': file(),
      'out/deep': { kind: 'directory', mode: 0o700, mtime: at },
      'out/deep/kept': file('kept'),
      'out/deep/other': file(),
      src: { kind: 'directory' },
      'src/.gitignore': file('!keep.log\n'),
      'src/keep.log': file(),
    })
    await settle()
    expect(await bases.renew({ ignored: 'none' })).toMatchObject({ files: 4, excluded: 3 })
    expect(await bases.renew({ ignored: 'listed' })).toMatchObject({ files: 6, excluded: 3 })
    subject.editFolder(bases.folder, { do: 'chmod', path: 'out/deep', mode: 0o750 })
    await bases.renew({ ignored: 'listed' })
    subject.editFolder(bases.folder, { do: 'write', path: '.worktreeinclude', content: '/out/deep/oth*\n' })
    expect(await bases.renew({ ignored: 'listed' })).toMatchObject({ files: 5 })
    subject.editFolder(bases.folder, { do: 'remove', path: 'out/deep/other' })
    expect(await bases.renew({ ignored: 'listed' })).toMatchObject({ files: 4 })
    subject.editFolder(bases.folder, { do: 'write', path: '.gitignore', content: 'src/\n' })
    await bases.renew({ ignored: 'listed' })
    await bases.renew()
  })

  it('finds that a .git leads to a repository elsewhere, and that it does so no more', async () => {
    const subject = await open()
    const inside = 'gitdir: ../real\n'
    const bases = await withFolder(subject, {
      real: { kind: 'directory' },
      d: { kind: 'directory' },
      'd/.git': { kind: 'file', content: inside, mtime: at },
    })
    await settle()
    expect((await bases.renew()).skipped).toEqual([])
    expect((await bases.renew()).changed ?? 0).toBe(0)
    subject.editFolder(bases.folder, { do: 'write', path: 'd/.git', content: 'gitdir: /elsewhere/real\n' })
    await settle()
    for (const _ of [1, 2]) expect((await bases.renew()).skipped).toEqual([{ path: 'd/.git', reason: 'foreign_git' }])
    expect((await bases.renew()).changed ?? 0).toBe(0)
    subject.editFolder(bases.folder, { do: 'write', path: 'd/.git', content: inside })
    expect((await bases.renew()).skipped).toEqual([])
  })

  it('leaves the old state what it was when it does not come to an end', async () => {
    const subject = await open()
    const bases = await withFolder(subject, sample)
    await settle()
    await bases.renew()
    subject.editFolder(bases.folder, { do: 'append', path: 'a', content: '!' }, { do: 'remove', path: 'd/e' })
    for (let looks = 0; looks < 12; looks++) {
      const outcome = await bases.attempt({ signal: abortedAfter(looks) })
      expect([undefined, 'aborted']).toContain((outcome as { code?: string } | undefined)?.code)
    }
    expect(await bases.attempt({ signal: abortedAfter(0) })).toEqual(code('aborted'))
    await bases.renew()
    expect(bases.count()).toBe(2)
  })

  it('copies everything when what was known is gone with its base', async () => {
    const subject = await open()
    const { storage } = subject
    const bases = await withFolder(subject, sample)
    await settle()
    await bases.renew()
    // The tree is still there, what was known of the folder is not.
    await storage.create(volume, { from: base(1) })
    await storage.erase(base(1))
    await storage.snapshot(volume, base(1))
    subject.editFolder(bases.folder, { do: 'append', path: 'a', content: '!' }, { do: 'remove', path: 'd/e' })
    expect((await bases.renew()).changed).toBeUndefined()
    await settle()
    await bases.renew()
  })

  it('does not forget what is in a base that is there', async () => {
    const subject = await open()
    const bases = await withFolder(subject, sample)
    await bases.renew()
    await subject.storage.create(staged)
    const importing = subject.storage.import(staged, { folder: bases.folder }, { into: '.', index: base(1) })
    await expect(importing).rejects.toEqual(code('file_exists'))
  })

  it('has neither rules nor an index for a tree of its own', async () => {
    const { storage, folder } = await open()
    await storage.create(volume)
    await storage.create(staged)
    for (const options of [{ exclude: ['a'] }, { ignored: 'none' as const }, { index: { name: 'one' } }])
      await expect(storage.import(staged, { place: volume }, { into: '.', ...options })).rejects.toEqual(
        code('invalid_input'),
      )
    for (const name of ['../escape', 'A', '']) {
      const importing = storage.import(staged, { folder: folder(sample) }, { into: '.', index: { name } })
      await expect(importing).rejects.toEqual(code('invalid_input'))
    }
  })
}

const attempt = (call: () => void): void => {
  try {
    call()
  } catch {
    // Not possible now.
  }
}

/** Whoever asks it so often is told that nobody waits any more. */
function abortedAfter(looks: number): AbortSignal {
  const { signal } = new AbortController()
  let left = looks
  return Object.defineProperty(signal, 'aborted', { get: () => left-- <= 0 })
}
