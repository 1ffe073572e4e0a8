import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AwError } from '../../domain/errors.ts'
import { runCli } from '../../../test/support/cli.ts'

/** What the core is asked when this is typed. */
const asked = async (args: readonly string[], scene: Parameters<typeof runCli>[1] = {}): Promise<unknown> => {
  const result = await runCli(['--json', ...args], scene)
  expect(result.stderr).toBe('')
  return result.calls[0]?.input
}

/** What the user is told. */
const told = async (args: readonly string[]): Promise<string> => {
  const result = await runCli(args)
  expect(result).toMatchObject({ exit: 2, stdout: '', calls: [] })
  return result.stderr
}

test.each([
  ['create', 'x', '--repo', ''],
  ['create', 'x', '--from', ''],
  ['template', 'create', 'x', '--repo', ''],
  ['export', 'x', '--branch', 'b', '--repo', ''],
  ['export', 'x', ''],
  ['export', 'x', '--bundle', ''],
  ['import', ''],
  ['cp', '', 'x:a'],
  ['cp', 'x:a', ''],
])('an empty path is not the directory one is in: %s %s %s', async (...args) => {
  expect(await told(args)).toMatch(/^aw: --(repo|from|file|bundle|to) is empty\n.*not set/)
})

test('what cannot be looked at is left to who opens it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aw-input-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const loop = join(folder, 'loop')
  await symlink('loop', loop)
  expect(await asked(['create', 'x', '--from', loop])).toEqual({ id: 'x', from: { folder: loop } })
  const long = join(folder, 'a'.repeat(300))
  expect(await asked(['create', 'x', '--from', long])).toEqual({ id: 'x', from: { folder: long } })
})

describe('ids', () => {
  test.each([[['show', 'a/b']], [['show', '--id', 'a/b']], [['show', '--id=a/b']], [['show', '--', 'a/b']]])(
    '%j',
    async (args) => {
      expect(await asked(args)).toEqual({ id: 'a/b' })
    },
  )

  test('by flag or by position, the other arguments keep their order', async () => {
    expect(await asked(['fs', 'read', '--id', 'x', 'work/a'])).toEqual({ id: 'x', path: 'work/a' })
    expect(await asked(['fs', 'move', 'x', 'b', '--from', 'a'])).toEqual({ id: 'x', from: 'a', to: 'b' })
  })

  test('a last field that is a list takes all words that are left, and its flag adds to it', async () => {
    expect(await asked(['fork', 'x', 'a', 'b/c'], { answers: { fork: { forks: [] } } })).toEqual({
      id: 'x',
      to: ['a', 'b/c'],
    })
    expect(await asked(['fork', 'x', '--count', '2', '--at', 'head'], { answers: { fork: { forks: [] } } })).toEqual({
      id: 'x',
      count: 2,
      at: 'head',
    })
    expect(await asked(['snapshot', 'remove', 'x', 'a', '--snapshots', 'b', 'c'])).toEqual({
      id: 'x',
      snapshots: ['b', 'a', 'c'],
    })
  })

  test('the longest command wins; a workspace of that name is still reached', async () => {
    expect(await asked(['snapshot', 'x', '--label', 'y'])).toEqual({ id: 'x', label: 'y' })
    expect(await asked(['snapshot', 'label', 'x', 'head', 'y'])).toEqual({ id: 'x', snapshot: 'head', label: 'y' })
    expect(await asked(['snapshot', '--id', 'label'])).toEqual({ id: 'label' })
  })

  test('what follows -- is never a flag', async () => {
    const { calls } = await runCli(['fs', 'read', 'x', '--', '--odd name'], { answers: { 'fs read': Buffer.from('') } })
    expect(calls[0]?.input).toEqual({ id: 'x', path: '--odd name' })
  })
})

describe('values', () => {
  test.each<[string, readonly string[], unknown]>([
    ['a folder below the working directory', ['create', 'x', '--from', './p'], { id: 'x', from: { folder: '/w/p' } }],
    ['an absolute folder', ['create', 'x', '--from=/p'], { id: 'x', from: { folder: '/p' } }],
    ['no folder', ['create', 'x', '--from', 'empty'], { id: 'x', from: 'empty' }],
    ['pairs', ['create', 'x', '--label', 'a=1', '--labels', 'b=x=y'], { id: 'x', labels: { a: '1', b: 'x=y' } }],
    ['choices', ['list', '--state', 'ready,failed', '--state', 'running'], { state: ['ready', 'failed', 'running'] }],
    [
      'a list of texts',
      ['prompt', 'adapt', 'x', 'hi', '--from', '/a,b', '--from', '/c'],
      { id: 'x', text: 'hi', from: ['/a,b', '/c'] },
    ],
    ['a length of time', ['gc', '--plan', '--older-than', '7d'], { plan: true, older_than: '7d' }],
    [
      'a mode',
      ['fs', 'write', 'x', 'p', '--mode', '0640'],
      { id: 'x', path: 'p', mode: 0o640, content: new Uint8Array() },
    ],
    ['a number', ['events', '--limit', '5'], { limit: 5 }],
    ['a switch that is off', ['fs', 'stat', 'x', 'p', '--no-follow'], { id: 'x', path: 'p', follow: false }],
    ['a switch as a word', ['fs', 'stat', 'x', 'p', '--follow=false'], { id: 'x', path: 'p', follow: false }],
  ])('%s', async (_, args, input) => {
    expect(await asked(args, { cwd: '/w', answers: { events: [], gc: { items: [] } } })).toEqual(input)
  })

  test('standard input is the content', async () => {
    const input = await asked(['fs', 'write', 'x', 'p'], { stdin: 'hello\n' })
    expect(input).toEqual({ id: 'x', path: 'p', content: new TextEncoder().encode('hello\n') })
    expect(await asked(['prompt', 'adapt', 'x'], { stdin: 'hello' })).toEqual({ id: 'x', text: 'hello' })
  })

  test('JSON from a file', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'aw-cli-'))
    onTestFinished(() => rm(cwd, { recursive: true }))
    await writeFile(join(cwd, 'c.json'), '{"max_size_mb":7}')
    expect(await asked(['create', 'x', '--config', '@c.json'], { cwd })).toEqual({
      id: 'x',
      config: { max_size_mb: 7 },
    })
  })
})

describe('what is refused, and what is said', () => {
  test.each<[readonly string[], string]>([
    [['shwo', 'x'], 'Did you mean aw show?'],
    [['rm', 'x'], 'Did you mean aw destroy?'],
    [['qqqqqq'], 'aw help'],
    [['rollback', 'x'], 'Did you mean aw restore?'],
    [['revert', 'x'], 'Did you mean aw undo?'],
    [['checkpoint', 'x'], 'Did you mean aw snapshot?'],
    [['clone', 'x'], 'Did you mean aw fork?'],
    [['ps'], 'Did you mean aw status?'],
    [['log', 'x'], 'Did you mean aw logs?'],
    [['kill', 'x'], 'Did you mean aw cancel?'],
    [['version'], 'Did you mean aw --version?'],
    [['snapshot', 'lable', 'x', 'head'], 'Did you mean aw snapshot label?'],
    [['snapshot', 'x', 'y'], 'hint: Usage: aw snapshot ID'],
    [['snapshot', 'remove', 'x'], 'hint: Usage: aw snapshot remove ID SNAPSHOTS...'],
    [['fork'], 'hint: Usage: aw fork ID [TO...] [flags]'],
    [['fs'], 'fs needs a command: read, write'],
    [['fs', 'raed'], 'Did you mean aw fs read?'],
    [['show'], 'hint: Usage: aw show ID'],
    [['show', 'a', 'b'], 'does not know what to do with "b"'],
    [['show', '--id'], '--id needs a value'],
    [['show', '--id', 'a', '--id', 'b'], '--id is given twice'],
    [['list', '--stat', 'x'], 'Did you mean --state?'],
    [['start', 'x', '--memory', '3'], 'Did you mean --memory-mb?'],
    [['list', '--state', 'redy'], '--state is "redy"; it must be one of creating'],
    [['start', 'x', '--network', 'off'], 'one of none, allowlist, host\n'],
    [['list', '-x'], 'There is no flag -x'],
    [['list', '--limit', 'many'], '--limit must be a whole number, not "many"'],
    [['list', '--limit', '0'], '--limit must be between 1 and 10000, not 0'],
    [['gc', '--older-than', 'soon'], '--older-than is "soon", which is not a length of time'],
    [['create', 'x', '--config', '{'], '--config is not readable as JSON'],
    [['create', 'x', '--config', '[]'], '--config must be an object'],
    [['create', 'x', '--config', '{"git_config":{"bogus":1}}'], 'There is no field config.git_config.bogus'],
    [['create', 'x', '--config', '@/nowhere/c.json'], 'The file of --config cannot be read: ENOENT'],
    [['create', 'x', '--label', 'a'], '--label takes KEY=VALUE, not "a"'],
    [['fs', 'write', 'x', 'p', '--mode', '9'], '--mode must be a whole number'],
    [['gc', '--plan=maybe'], '--plan takes no value'],
    [['list', '--format', 'xml'], 'it must be text or json'],
    [['--nope'], 'There is no flag --nope'],
    [['completion', 'bsh'], 'Did you mean aw completion bash?'],
  ])('%j', async (args, text) => {
    expect(await told(args)).toContain(text)
  })
})

describe('cp', () => {
  const done = { answers: { cp: { files: 1, bytes: 1, skipped: [] } }, cwd: '/here' }

  test('a path of this machine is made absolute, a place in a workspace stays', async () => {
    expect(await asked(['cp', 'a', 'x:work/', '--replace'], done)).toEqual({
      from: '/here/a',
      to: 'x:work/',
      replace: true,
    })
    expect(await asked(['cp', 'x:work', 'out/'], done)).toMatchObject({ from: 'x:work', to: '/here/out/' })
    expect(await asked(['cp', 'x:work', '/'], done)).toMatchObject({ to: '/' })
    expect(await asked(['cp', './with:colon', 'x@snap:work'], done)).toEqual({
      from: '/here/with:colon',
      to: 'x@snap:work',
    })
  })

  test('what is not needed or not possible is told', async () => {
    expect(await told(['cp', '-r', 'a', 'x:work/'])).toContain('cp needs no -r: a directory is always copied')
    expect(await told(['cp', 'a', 'b', 'x:work/'])).toContain('cp copies one thing to one place\n  hint: Copy the dir')
  })

  test('a file with a colon in its name is found by the hint', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'aw-input-'))
    onTestFinished(() => rm(cwd, { recursive: true }))
    await writeFile(join(cwd, 'with:colon'), '')
    const cp = (): never => {
      throw new AwError('workspace_not_found', 'There is no workspace with', { hint: 'See them' })
    }
    const copy = async (from: string): Promise<string> =>
      (await runCli(['cp', from, 'x:work/'], { answers: { cp }, cwd })).stderr
    expect(await copy('with:colon')).toContain('The file of this name here is ./with:colon')
    expect(await copy('with:out')).toContain('See them')
  })
})

test('errors name the flag as it was typed', async () => {
  expect(await told(['create', 'x', '--template', 't', '--var', 'a'])).toContain('--var takes KEY=VALUE, not "a"')
  expect(await told(['create', 'x', '--template', 't', '--variables', 'a'])).toContain('--variables takes KEY=VALUE')
  expect(await told(['create', 'x', '--var'])).toContain('--var needs a value')
})

test('an archive goes into a file and comes from one', async () => {
  expect(await told(['export', 'x', '--bundle', '-'])).toContain('A file is needed here')
  expect(await told(['import', '-'])).toContain('one that is called - is ./-')
})
