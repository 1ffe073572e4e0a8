import { describe, expect, test } from 'vitest'
import { operations } from '../../api/table.ts'
import { runCli, sampleWorkspace, type Scene } from '../../../test/support/cli.ts'
import { age, bytes, count } from './units.ts'

const list = [
  sampleWorkspace(),
  sampleWorkspace({
    workspace_id: 'spike/main',
    state: 'failed',
    source: { kind: 'folder', path: '/src/app' },
    size_bytes: 5_000_000_000,
    size_complete: false,
    problem: { code: 'source_failed', message: 'Cannot read it' },
    created_at: '2029-12-01T00:00:00.000Z',
  }),
]

const shown = async (args: readonly string[], output: unknown, scene: Scene = {}): Promise<string> => {
  const name = operations.map((entry) => entry.name).find((known) => args.join(' ').startsWith(known)) ?? ''
  const result = await runCli(args, { ...scene, answers: { [name]: output } })
  expect(result.exit).toBeLessThan(2)
  return result.stdout + result.stderr
}
const onTerminal: Scene = { terminal: true, env: { NO_COLOR: '1' } }

describe('list', () => {
  test('a pipe gets plain lines with tabs', async () => {
    expect(await shown(['list'], list)).toBe(
      'fix-login/claude\tready\t1.5 KiB\t2h\t-\tempty\nspike/main\tfailed !\t> 4.7 GiB\t31d\t-\tfolder /src/app\n',
    )
  })

  test('a terminal gets a table', async () => {
    expect(await shown(['list'], list, onTerminal)).toBe(
      [
        'NAME              STATE          SIZE  AGE  SOURCE',
        'fix-login/claude  ready       1.5 KiB   2h  empty',
        'spike/main        failed !  > 4.7 GiB  31d  folder /src/app',
        '',
      ].join('\n'),
    )
  })

  test('colours on a terminal only, unless forced', async () => {
    const escape = '\u001b['
    expect(await shown(['list'], list, { terminal: true })).toContain(escape)
    expect(await shown(['list', '--no-color'], list, { terminal: true })).not.toContain(escape)
    expect(await shown(['list'], list, { terminal: true, env: { TERM: 'dumb' } })).not.toContain(escape)
    expect(await shown(['list'], list)).not.toContain(escape)
    expect(await shown(['list'], [], { env: { FORCE_COLOR: '1' } })).not.toContain(escape)
    expect(await shown(['show', 'x'], list[0], { env: { FORCE_COLOR: '1' } })).toContain(escape)
  })

  test('nothing: a hint for a person, nothing for a program', async () => {
    expect(await shown(['list'], [], onTerminal)).toContain('aw create')
    expect(await shown(['list', '--trashed'], [], onTerminal)).toContain('The trash is empty')
    expect(await shown(['list', '--task', 'x'], [], onTerminal)).toContain('No workspace fits')
    expect(await shown(['list'], [])).toBe('')
  })

  test('quiet: names only, and nothing is measured', async () => {
    const result = await runCli(['list', '-q'], { answers: { list } })
    expect(result.stdout).toBe('fix-login/claude\nspike/main\n')
    expect(result.calls[0]?.input).toEqual({})
  })
})

test('show lists what is known, problems last', async () => {
  const text = await shown(
    ['show', 'x'],
    sampleWorkspace({ labels: { sprint: '12' }, problem: { code: 'c', message: 'm' } }),
  )
  expect(text).toContain('name\tfix-login/claude\n')
  expect(text).toContain('label\tsprint=12\n')
  expect(text).toContain('problem\tm (c)\n')
})

describe('files', () => {
  const file = { kind: 'file', size: 10, mode: 0o644, mtime: '2029-12-31T23:00:00.000Z', links: 1, uid: 1, gid: 1 }
  const entries = [
    { ...file, path: 'work/a', kind: 'directory', mode: 0o755 },
    { ...file, path: 'work/l', kind: 'symlink', target: '/etc', escapes: true },
    { ...file, path: 'work/\u001b[31mred\n' },
  ]

  test('a listing like ls -l, names made harmless', async () => {
    const text = await shown(['fs', 'list', 'x', 'work'], { entries, next: null })
    expect(text).toBe(
      [
        'drwxr-xr-x\t10\t2029-12-31T23:00:00.000Z\ta/',
        'lrw-r--r--\t10\t2029-12-31T23:00:00.000Z\tl -> /etc (leads out of the workspace)',
        String.raw`-rw-r--r--${'\t'}10${'\t'}2029-12-31T23:00:00.000Z${'\t'}\x1b[31mred\x0a`,
        '',
      ].join('\n'),
    )
  })

  test('a tree is drawn for people and listed for programs', async () => {
    const output = {
      entries: [
        { path: 'work', kind: 'directory' },
        { path: 'work/a.txt', kind: 'file' },
        { path: 'y', kind: 'symlink', escapes: true },
        { path: 'z', kind: 'symlink', escapes: false },
      ],
      truncated: true,
      unreadable: [],
    }
    expect(await shown(['fs', 'tree', 'x'], output)).toBe('work/\nwork/a.txt\ny\nz\n')
    expect(await shown(['fs', 'tree', 'x'], output, onTerminal)).toBe(
      [
        '.',
        '├── work/',
        '│   └── a.txt',
        '├── y (symlink, leads out of the workspace)',
        '└── z (symlink)',
        'There is more than this: raise --max-entries or --max-depth',
        '',
      ].join('\n'),
    )
  })

  test('reading gives the bytes as they are', async () => {
    const chunks: Uint8Array[] = []
    const stdout = {
      isTerminal: false,
      columns: 80,
      write: async (chunk: string | Uint8Array) => void chunks.push(chunk as Uint8Array),
    }
    const content = Uint8Array.of(0, 255, 10, 27)
    await runCli(['fs', 'read', 'x', 'p'], { answers: { 'fs read': content }, stdout })
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(content))
    const json = await runCli(['fs', 'read', 'x', 'p', '--json'], { answers: { 'fs read': content } })
    expect(json.stdout).toBe('"AP8KGw=="\n')
  })
})

describe('reports', () => {
  const intact = { intact: true, events: 9, streams: 2, unsealed: 3, anchor: 'checked', problems: [] }

  test('audit verify', async () => {
    const checkpoint = { number: 4, at: '', position: 1, events: 6, hash: '' }
    expect(await shown(['audit', 'verify'], { ...intact, checkpoint })).toContain(
      'Intact up to checkpoint 4; 3 records after it are not sealed yet\n',
    )
    expect(await shown(['audit', 'verify'], { ...intact, checkpoint: null })).toContain('no checkpoint yet')
    const broken = {
      ...intact,
      intact: false,
      checkpoint,
      problems: [{ kind: 'hash', stream: 'ws_1', version: 2, message: 'Changed' }],
    }
    const result = await runCli(['audit', 'verify'], { answers: { 'audit verify': broken } })
    expect(result).toMatchObject({ exit: 1, stdout: expect.stringContaining('Changed (ws_1, record 2)') as string })
  })

  test('doctor', async () => {
    const findings = [
      { name: 'storage', status: 'ok', message: 'dir', hint: null },
      { name: 'log', status: 'problem', message: 'Not writable', hint: 'chown it' },
    ]
    const result = await runCli(['check'], { answers: { doctor: { ok: false, findings } } })
    expect(result).toMatchObject({
      exit: 1,
      stdout: '✓ storage  dir\n✗ log      Not writable\n           chown it\n\n1 problem\n',
    })
  })

  test.each([
    [['ok', 'info'], 'All is well'],
    [['ok', 'warning'], 'No problems, 1 warning'],
    [['warning', 'info', 'warning'], 'No problems, 2 warnings'],
    [['problem', 'warning', 'problem'], '2 problems, 1 warning'],
  ])('doctor counts what it found: %j', async (statuses, verdict) => {
    const findings = statuses.map((status) => ({ name: 'x', status, message: 'y', hint: null }))
    const result = await runCli(['doctor'], { answers: { doctor: { ok: !statuses.includes('problem'), findings } } })
    expect(result.stdout.trimEnd().split('\n').at(-1)).toBe(verdict)
  })

  test('lines end between words on a narrow terminal', async () => {
    const said = 'names are resolved step by step over the file system, equally safe but slower'
    const findings = [{ name: 'file layer', status: 'ok', message: said, hint: said }]
    const written: string[] = []
    const stdout = {
      isTerminal: true,
      columns: 60,
      write: async (chunk: string | Uint8Array) => void written.push(String(chunk)),
    }
    await runCli(['doctor'], { ...onTerminal, stdout, answers: { doctor: { ok: true, findings } } })
    await runCli(['show', 'x'], {
      ...onTerminal,
      stdout,
      answers: { show: sampleWorkspace({ config: { about: said } }) },
    })
    const lines = written.join('').split('\n')
    expect(lines.filter((line) => line.length > 60)).toEqual([])
    expect(lines.map((line) => line.trim().split(' ')).flat()).toEqual(expect.arrayContaining(said.split(' ')))
  })

  test('config show: a mode as one writes it', async () => {
    const setting = { from: 'default', about: 'About' }
    const settings = [
      { ...setting, key: 'workspaces.dir_mode', value: 0o755 },
      { ...setting, key: 'storage.root', value: '' },
    ]
    expect(await shown(['config', 'show'], { home: '/h', file: null, settings })).toBe(
      'home\t/h\nfile\tnone\nworkspaces.dir_mode\t0755\tdefault\tAbout\nstorage.root\t""\tdefault\tAbout\n',
    )
  })

  test('events', async () => {
    const item = {
      at: '2029-12-31T23:00:00.000Z',
      type: 'workspace_cleanup',
      stream: 'ws_1',
      data: { task_id: 'a', agent_id: 'b', cleanup_reason: 'user', workspace_path: '/p' },
      meta: { actor: 'user:0' },
    }
    expect(await shown(['events'], [item])).toBe(
      '2029-12-31T23:00:00.000Z\tworkspace_cleanup\ta/b\tuser:0\tcleanup_reason=user\n',
    )
    expect(await shown(['events', '--json'], [item, item])).toBe(`${JSON.stringify(item)}\n`.repeat(2))
  })

  test('show has the path and the digest of an archive', async () => {
    const archive = {
      tree: 'ws_1.1',
      path: '/a/x.aw.tar.zst',
      digest: '9f0c',
      bytes: 5,
      at: '2029-12-31T00:00:00.000Z',
    }
    const text = await shown(['show', 'x'], sampleWorkspace({ archives: [archive] }))
    expect(text).toContain('archive\t/a/x.aw.tar.zst, 2029-12-31T00:00:00.000Z\narchive digest\t9f0c\n')
  })

  test('an end and a size limit, in one line', async () => {
    const ending = (expires_at: string | null) => shown(['ttl', 'x'], sampleWorkspace({ expires_at }))
    expect(await ending('2030-01-04T00:05:30.000Z')).toBe('fix-login/claude expires 2030-01-04 00:05 UTC (in 3d)\n')
    expect(await ending('2030-01-01T11:59:59.800Z')).toContain('(in 12h)')
    expect(await ending('2029-12-31T00:00:00.000Z')).toBe(
      'fix-login/claude expired 2029-12-31 00:00 UTC; the next aw gc moves it to the trash\n',
    )
    expect(await ending(null)).toBe('fix-login/claude has no end\n')
    expect(await shown(['ttl', 'x', 'none', '-q'], sampleWorkspace())).toBe('')
    const limited = (mb: number) =>
      shown(['limit', 'x', String(mb)], sampleWorkspace({ size_limit: { mb, grade: 'watched' } }))
    expect(await limited(200)).toBe('fix-login/claude may hold 200 MB beyond what it began as (watched)\n')
    expect(await limited(0)).toBe('fix-login/claude has no size limit\n')
  })

  test('destroy tells a person at a terminal how to undo it', async () => {
    const output = { removed: true, workspace: sampleWorkspace({ state: 'trashed' }) }
    expect(await shown(['destroy', 'x'], output, onTerminal)).toBe(
      'Workspace destroyed\nBring it back with: aw undelete fix-login/claude\n',
    )
  })
})

test('amounts', () => {
  expect([0, 1023, 1024, 1024 ** 2 * 150].map(bytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '150 MiB'])
  expect([count(1, 'file'), count(2, 'file')]).toEqual(['1 file', '2 files'])
  const now = Date.parse('2030-01-01T00:00:00Z')
  const ages = [
    '2029-12-31T23:59:58Z',
    '2029-12-31T23:59:00Z',
    '2029-12-31T00:00:00Z',
    '2029-12-29T00:00:00Z',
    '2020-01-01T00:00:00Z',
  ]
  expect(ages.map((at) => age(at, now))).toEqual(['now', '1m', '24h', '3d', '10y'])
})
