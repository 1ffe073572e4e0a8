/** What the box's user cannot reach by path, bound for it: only what was meant, under its own ids. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bwrap, launchBox, run, shell, startBox, testFolder } from './harness.ts'

const owner = 61_000
const other = 70_001
const nobody = 65_534

interface Place {
  readonly folder: string
  readonly tree: string
  readonly stage: string
}

/** A tree that only root reaches, and an empty stage that anybody may go through. */
function prepare(): Place {
  const folder = testFolder()
  const tree = join(folder, 'private/home/tree')
  mkdirSync(tree, { recursive: true })
  writeFileSync(join(tree, 'file'), 'content')
  for (const path of [tree, join(tree, 'file')]) chownSync(path, owner, owner)
  chmodSync(tree, 0o700)
  chmodSync(join(folder, 'private'), 0o700)
  const stage = join(folder, 'stage')
  mkdirSync(stage)
  return { folder, tree, stage }
}

const bind = (path: string, idmap = '-', name = 'tree'): readonly ['b', string] => {
  const { dev, ino } = statSync(path, { bigint: true })
  return ['b', `${dev}:${ino}:${idmap}:${name}:${path}`]
}

const around = (stage: string): (readonly ['A', string])[] =>
  bwrap(['--bind', join(stage, 'tree'), '/workspace']).map((it) => ['A', it] as const)

describe('as root', () => {
  test('the box runs as another user, with a tree below folders that are closed to it', async () => {
    const { tree, stage } = prepare()
    const spec = [['u', `${owner}:${owner}`], ['g', stage], bind(tree), ...around(stage)] as const
    const { client, first } = await startBox({ level: 'namespace', spec })
    const script = 'cat /workspace/file; echo new >/workspace/new; grep -h Cap[EP] /proc/self/status'
    const { stdout } = await shell(client, script)
    expect(stdout).toMatch(/^content(Cap...:\s0{16}\n){2}$/)
    expect(statSync(join(tree, 'new')).uid).toBe(owner)
    const status = readFileSync(`/proc/${first}/status`, 'utf8')
    expect(status).toMatch(new RegExp(`Uid:(\\s${owner}){4}\\n`))
    expect(status).toMatch(new RegExp(`Gid:(\\s${owner}){4}\\n`))
    expect(status).toMatch(/Groups:\s*\n/)
  })

  test('without a stage it cannot be reached', async () => {
    const { tree } = prepare()
    const walls = bwrap(['--bind', tree, '/workspace']).map((it) => ['A', it] as const)
    const box = await launchBox({ level: 'namespace', spec: [['u', `${owner}:${owner}`], ...walls] })
    expect(box.answer).toMatch(/^error 71 /)
    expect(box.log()).toMatch(/Permission denied/)
  })

  test('ids are mapped: the box is one user, the files on disk belong to another', async () => {
    const { tree, stage } = prepare()
    const spec = [['u', `${other}:${other}`], ['g', stage], bind(tree, `${owner}:${other}`), ...around(stage)] as const
    const { client } = await startBox({ level: 'namespace', spec })
    const script =
      'cat /workspace/file; echo new >/workspace/new; chmod 600 /workspace/file; stat -c %u /workspace/file'
    expect(await shell(client, script)).toMatchObject({ stdout: 'content1000\n', stderr: '' })
    expect([statSync(join(tree, 'new')).uid, statSync(join(tree, 'new')).gid]).toEqual([owner, owner])
  })

  test('without the map the other user has no access', async () => {
    const { tree, stage } = prepare()
    const spec = [['u', `${other}:${other}`], ['g', stage], bind(tree), ...around(stage)] as const
    const { client } = await startBox({ level: 'namespace', spec })
    expect((await shell(client, 'cat /workspace/file')).stderr).toMatch(/Permission denied/)
  })

  test('nothing of it is seen outside, and nothing is left of it', async () => {
    const { tree, stage } = prepare()
    const spec = [['u', `${owner}:${owner}`], ['g', stage], bind(tree), ...around(stage)] as const
    const box = await startBox({ level: 'namespace', spec })
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(stage)
    box.supervisor.kill('SIGTERM')
    await box.ended
    execFileSync('rmdir', [stage])
  })

  test('a file is bound as well', async () => {
    const { tree, stage } = prepare()
    const spec = [['u', `${owner}:${owner}`], ['g', stage], bind(join(tree, 'file'), '-', 'one')] as const
    const walls = bwrap(['--ro-bind', join(stage, 'one'), '/one']).map((it) => ['A', it] as const)
    const { client } = await startBox({ level: 'namespace', spec: [...spec, ...walls] })
    expect(await run(client, ['cat', '/one'])).toMatchObject({ stdout: 'content' })
  })

  test.each([
    ['another directory', (tree: string) => mkdirSync(tree)],
    ['a link to the first', (tree: string) => symlinkSync(`${tree}.old`, tree)],
    ['a link to anywhere', (tree: string) => symlinkSync('/etc', tree)],
  ])('%s in its place is refused', async (_, swap) => {
    const { tree, stage } = prepare()
    const wanted = bind(tree)
    renameSync(tree, `${tree}.old`)
    swap(tree)
    const spec = [['u', `${owner}:${owner}`], ['g', stage], wanted, ...around(stage)] as const
    const box = await launchBox({ level: 'namespace', spec })
    expect(box.answer).toBe(`error 116 another one is now at ${tree}: Stale file handle`)
  })

  test.each(['a/b', '..', '.', ''])('a name like %j in the stage is refused', async (name) => {
    const { tree, stage } = prepare()
    const box = await launchBox({ level: 'namespace', spec: [['g', stage], bind(tree, '-', name), ...around(stage)] })
    expect(box.answer).toMatch(/^error 22 binding/)
  })

  test('a link is no stage', async () => {
    const { folder, tree, stage } = prepare()
    symlinkSync(stage, join(folder, 'link'))
    const spec = [['g', join(folder, 'link')], bind(tree), ...around(stage)] as const
    expect((await launchBox({ level: 'namespace', spec })).answer).toMatch(/^error 20 opening the stage/)
  })
})

describe('as an ordinary user', () => {
  function layers(): Place & { readonly lowers: readonly string[]; readonly upper: string; readonly work: string } {
    const folder = testFolder()
    const paths = ['lower one', 'lower,two:x', 'upper', 'work', 'stage'].map((name) => join(folder, name))
    for (const path of paths) {
      mkdirSync(path)
      chownSync(path, nobody, nobody)
    }
    const [first = '', second = '', upper = '', work = '', stage = ''] = paths
    writeFileSync(join(first, 'file'), 'uppermost')
    writeFileSync(join(second, 'file'), 'below')
    writeFileSync(join(second, 'gone'), 'below')
    for (const path of [join(first, 'file'), join(second, 'file'), join(second, 'gone')])
      chownSync(path, nobody, nobody)
    return { folder, tree: folder, stage, lowers: [first, second], upper, work }
  }

  test('an overlay is mounted in a user namespace of its own', async () => {
    const { stage, lowers, upper, work } = layers()
    const { client } = await startBox({
      level: 'namespace',
      uid: nobody,
      spec: [
        ['n', ''],
        ['g', stage],
        ['o', 'tree'],
        ...lowers.map((path) => ['l', path] as const),
        ['U', upper],
        ['W', work],
        ...around(stage),
      ],
    })
    const script = 'cat /workspace/file; echo new >/workspace/file; rm /workspace/gone; ls /workspace; id -u'
    expect(await shell(client, script)).toMatchObject({ stdout: 'uppermostfile\n1000\n', stderr: '' })
    expect(readFileSync(join(upper, 'file'), 'utf8')).toBe('new\n')
    expect(statSync(join(upper, 'file')).uid).toBe(nobody)
    expect(readFileSync(join(lowers[0] ?? '', 'file'), 'utf8')).toBe('uppermost')
  })

  test('a layer that is not there is told', async () => {
    const { stage, upper, work } = layers()
    const spec = [
      ['n', ''],
      ['g', stage],
      ['o', 'tree'],
      ['l', '/no/such'],
      ['U', upper],
      ['W', work],
    ] as const
    const box = await launchBox({ level: 'namespace', uid: nobody, spec: [...spec, ...around(stage)] })
    expect(box.answer).toMatch(/^error 2 opening the layer \/no\/such/)
  })

  test('it cannot become another', async () => {
    const box = await launchBox({ uid: nobody, spec: [['u', '0:0']] })
    expect(box.answer).toMatch(/^error 1 leaving all groups/)
  })

  test('a box of its own tree, in the plainest way', async () => {
    const folder = testFolder()
    chownSync(folder, nobody, nobody)
    const { client } = await startBox({ level: 'namespace', uid: nobody, walls: ['--bind', folder, '/workspace'] })
    expect((await shell(client, 'echo x >/workspace/file; cat /workspace/file')).stdout).toBe('x\n')
    expect(statSync(join(folder, 'file')).uid).toBe(nobody)
  })
})
