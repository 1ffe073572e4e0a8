import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { gitPatch, isInsideDotGit, type PatchSide } from './patch.ts'

const file = (path: string, text: string, mode = 0o644): PatchSide => ({ path, kind: 'file', mode, text })
const link = (path: string, text: string): PatchSide => ({ path, kind: 'symlink', mode: 0o777, text })

describe('a patch', () => {
  it.each([
    ['nothing', file('f', 'a\n'), file('f', 'a\n'), ''],
    ['a mode that git does not know', file('f', 'a\n', 0o644), file('f', 'a\n', 0o600), ''],
    ['a text', file('f', 'a\n'), file('f', 'b\n'), 'diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n'],
    ['an empty file', null, file('f', ''), 'diff --git a/f b/f\nnew file mode 100644\n'],
    ['one that goes', file('f', '', 0o755), null, 'diff --git a/f b/f\ndeleted file mode 100755\n'],
    ['a mode', file('f', 'a\n'), file('f', 'a\n', 0o755), 'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n'],
    ['a name', file('f', 'a\n'), file('g h', 'a\n'), 'diff --git a/f "b/g h"\nrename from f\nrename to g h\n'],
    [
      'a link for a file',
      file('f', ''),
      link('f', 'x'),
      'diff --git a/f b/f\ndeleted file mode 100644\n' +
        'diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n',
    ],
    [
      'odd names',
      null,
      file('gr\u00c3\u00bcn "x"\t\u0001', ''),
      'diff --git "a/gr\\303\\274n \\"x\\"\\t\\001" "b/gr\\303\\274n \\"x\\"\\t\\001"\nnew file mode 100644\n',
    ],
  ])('tells of %s', (_, before, after, patch) => {
    expect(gitPatch(before, after)).toBe(patch)
  })

  it('a name with a space ends in a tab', () => {
    expect(gitPatch(null, file('x y', 'a\n'))).toContain('+++ b/x y\t\n')
  })

  it('has nothing of what is below .git', () => {
    expect(['.git', 'a/.GIT/config', '.gitignore', 'x.git/y'].map(isInsideDotGit)).toEqual([true, true, false, false])
  })
})

type Tree = ReadonlyMap<string, PatchSide>

/** Names of bytes, one of them no text, and directories that others have as a file. */
const names = [
  'a',
  'b c',
  'd/e',
  'd/f/g',
  'd',
  '\u00c3\u00bc',
  '\u00ff"\\',
  'tab\t',
  'line\nbreak',
  'h',
  'x y /b c',
  'x y  ',
]
const text = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', '', '}', '-- x', '@@ -1 +1 @@', 'c\r'), { maxLength: 12 }),
    fc.constantFrom('', '\n'),
  )
  .map(([lines, end]) => lines.join('\n') + end)
const content = fc.oneof(
  text.chain((t) => fc.constantFrom(file('', t), file('', t, 0o755))),
  fc.constantFrom('a', '../x', 'no\nwhere').map((target) => link('', target)),
)
const tree: fc.Arbitrary<Tree> = fc
  .array(fc.tuple(fc.constantFrom(...names), content), { maxLength: 6 })
  .map((entries) => {
    const all = new Map(entries.map(([path, side]): [string, PatchSide] => [path, { ...side, path }]))
    // Below a link that leads to itself git cannot even see that there is nothing.
    for (const [path, side] of all) if (side.kind === 'symlink' && side.text === path) all.delete(path)
    for (const path of all.keys()) for (const other of all.keys()) if (other.startsWith(`${path}/`)) all.delete(other)
    return all
  })

const onDisk = (path: string): Buffer => Buffer.from(path, 'latin1')
const below = (root: string, path: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), onDisk(path)])

function write(root: string, files: Tree): void {
  for (const { path, kind, mode, text: inside } of files.values()) {
    const full = below(root, path)
    mkdirSync(onDisk(dirname(full.toString('latin1'))), { recursive: true })
    if (kind === 'symlink') symlinkSync(inside, full)
    else writeFileSync(full, inside)
    if (kind === 'file') chmodSync(full, mode)
  }
}

function read(root: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(root, { recursive: true, encoding: 'latin1' })) {
    const full = below(root, name)
    const stat = lstatSync(full)
    if (stat.isSymbolicLink()) found[name] = `-> ${readlinkSync(full)}`
    else if (stat.isFile()) found[name] = `${(stat.mode & 0o100) === 0 ? '-' : 'x'} ${readFileSync(full, 'utf8')}`
  }
  return found
}

const expected = (files: Tree): Record<string, string> =>
  Object.fromEntries(
    [...files.values()].map(({ path, kind, mode, text: inside }) => [
      path,
      kind === 'symlink' ? `-> ${inside}` : `${(mode & 0o100) === 0 ? '-' : 'x'} ${inside}`,
    ]),
  )

/** Some of those that went are told as renamed to some that came. */
function patchOf(before: Tree, after: Tree, renames: boolean): string {
  const gone = [...before.values()].filter(({ path }) => !after.has(path))
  const patches = [...after.values()].map((now) => {
    const moved = renames && !before.has(now.path) ? gone.findIndex(({ kind }) => kind === now.kind) : -1
    const [from] = moved === -1 ? [] : gone.splice(moved, 1)
    return gitPatch(from ?? before.get(now.path) ?? null, now)
  })
  return [...gone.map((old) => gitPatch(old, null)), ...patches].join('M\tsomething between\n')
}

it('gives what git apply makes the new tree of', () => {
  const directory = mkdtempSync(join(tmpdir(), 'aw-patch-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const root = join(directory, 'tree')
  fc.assert(
    fc.property(tree, tree, fc.boolean(), (before, after, renames) => {
      rmSync(root, { recursive: true, force: true })
      mkdirSync(root)
      write(root, before)
      const patch = patchOf(before, after, renames)
      if (patch.includes('diff --git'))
        execFileSync('git', ['apply', '-'], { cwd: root, input: patch, stdio: ['pipe', 'ignore', 'pipe'] })
      expect(read(root)).toEqual(expected(after))
    }),
    { numRuns: 80 },
  )
})
