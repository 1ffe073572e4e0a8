import { describe, expect, test } from 'vitest'
import type { Outputs } from '../../../api/table.ts'
import { runCli, type Scene } from '../../../../test/support/cli.ts'

type Change = Outputs['diff']

const file = { kind: 'file' as const, size: 1024, mode: 0o644 }
const change = (path: string, more: Partial<Change>): Change => ({
  path,
  change: 'changed',
  from: null,
  what: [],
  before: file,
  after: file,
  ...more,
})

const changes: Change[] = [
  change('a.ts', { change: 'added', before: null }),
  change('dir', { change: 'added', before: null, after: { ...file, kind: 'directory' } }),
  change('b.ts', { what: ['content', 'mode'], after: { kind: 'file', size: 2048, mode: 0o755 } }),
  change('c', { what: ['kind'], after: { ...file, kind: 'symlink' } }),
  change('d\u001b[2J', { change: 'removed', after: null }),
  change('new', { change: 'renamed', from: 'old' }),
]

const people: Scene = { terminal: true, env: { NO_COLOR: '1' } }
const shown = (items: readonly Change[], scene: Scene, ...args: string[]) =>
  runCli(['diff', 'x', ...args], { ...scene, answers: { diff: items } })

describe('diff', () => {
  test('letters, and what they do not say; a sum at the end', async () => {
    expect(await shown(changes, people)).toMatchObject({
      exit: 0,
      stdout: [
        'A  a.ts  1.0 KiB',
        'A  dir/',
        'M  b.ts  1.0 KiB → 2.0 KiB, mode 0644 → 0755',
        'M  c  file → symlink',
        String.raw`D  d\x1b[2J  1.0 KiB`,
        'R  old → new',
        '',
      ].join('\n'),
      stderr: '2 added, 2 changed, 1 removed, 1 renamed\n',
    })
  })

  test('what git keeps for itself is counted for people, and told to programs and to who asks for it', async () => {
    const both = [change('a.ts', {}), change('work/.git/index', {}), change('.git/logs/HEAD', {})]
    expect(await shown(both, people)).toMatchObject({
      stdout: 'M  a.ts\n',
      stderr: '1 changed; 2 below .git not shown\n',
    })
    expect(await shown(both.slice(1), people)).toMatchObject({
      stderr: 'No other difference; 2 below .git not shown\n',
    })
    expect((await shown(both, {})).stdout).toContain('work/.git/index')
    expect((await shown(both, people, '--path', '.git')).stdout).toContain('.git/logs/HEAD')
  })

  test('lines that were counted, and their sum', async () => {
    const counted = [
      change('a', { what: ['content'], lines: { added: 3, removed: 1 } }),
      change('b', { change: 'added', lines: { added: 2, removed: 0 } }),
      change('c', { what: ['content'], binary: true }),
    ]
    expect(await shown(counted, people, '--stat')).toMatchObject({
      stdout: 'M  a  +3 -1\nA  b  +2 -0\nM  c  1.0 KiB, binary\n',
      stderr: '1 added, 2 changed; +5 -1\n',
    })
    const omitted = change('.git/index', { what: ['content'], omitted: 'git applies nothing below .git' })
    expect((await shown([...counted.slice(2), omitted], {}, '--stat')).stdout).toBe(
      'M\tc\tcontent\tbinary\nM\t.git/index\tcontent\tgit applies nothing below .git\n',
    )
    expect((await shown(counted.slice(2), {}, '--stat', '--text')).stdout).toContain(
      '\nBinary files a/c and b/c differ\n',
    )
    expect(await shown(counted.slice(0, 2), {}, '--stat')).toMatchObject({
      stdout: 'M\ta\tcontent\t+3 -1\nA\tb\t+2 -0\n',
    })
  })

  test('a pipe gets tabs and no sum', async () => {
    expect(await shown(changes, {})).toMatchObject({
      stdout: [
        'A\ta.ts',
        'A\tdir',
        'M\tb.ts\tcontent,mode',
        'M\tc\tkind',
        String.raw`D${'\t'}d\x1b[2J`,
        'R\tnew\t\told',
        '',
      ].join('\n'),
      stderr: '',
    })
    expect((await shown(changes.slice(0, 1), {}, '--json')).stdout).toBe(`${JSON.stringify(changes[0])}\n`)
  })

  test('nothing, and a limit', async () => {
    expect(await shown([], people)).toMatchObject({ stdout: '', stderr: 'No difference\n' })
    expect((await shown(changes.slice(0, 1), people, '--limit', '1')).stderr).toContain('raise --limit')
    expect((await shown(changes, people, '-q')).stderr).toBe('')
  })

  const text =
    'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n--- gone\n-\u001b[2Jold\n+new\tx\n \n'
  const texts = [
    change('f', { what: ['content'], text }),
    change('g', { what: ['content'], binary: true }),
    change('h', { what: ['content'], omitted: 'Too large' }),
  ]

  test('texts are coloured and harmless on a terminal', async () => {
    const { stdout } = await shown(texts, { terminal: true }, '--text')
    expect(stdout).toContain('\u001b[31m-\\x1b[2Jold\u001b[39m\n\u001b[32m+new\tx\u001b[39m\n')
    expect(stdout).toContain('\u001b[1mold mode 100644\u001b[22m\n')
    expect(stdout).toContain('\u001b[1m--- a/f\u001b[22m\n')
    expect(stdout).toContain('\u001b[31m--- gone\u001b[39m\n')
    expect(stdout).toContain('\u001b[36m@@ -1,3 +1,2 @@\u001b[39m\n')
    expect(stdout).toContain('Binary files a/g and b/g differ')
    expect(stdout).toContain('Too large')
  })

  test('and as they are in a pipe, for patch', async () => {
    expect((await shown(texts, {}, '--text')).stdout).toBe(
      `M\tf\tcontent\n${text}M\tg\tcontent\nBinary files a/g and b/g differ\nM\th\tcontent\nToo large\n`,
    )
  })
})
