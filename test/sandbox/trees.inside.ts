/** Whatever somebody has put where names are to be protected, a sandbox starts, and says what it does not hold. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/ports/sandbox-driver.ts'
import { code, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'
import { isRoot, type Place } from './fixture.ts'

const opened = openedPlaces()
const protectWithin = ['work/.git/hooks']

async function started(prepare: (at: Place) => void): Promise<[Sandbox, Place]> {
  const at = opened('namespace')
  at.make('work')
  prepare(at)
  return [await startPlanned(at.driver, 'box_1', { ...at.spec, protect: ['.aw'], protectWithin }), at]
}

describe('a name that is held where there is something to hold', () => {
  it('is the file itself where a file stands for the directory, as in a worktree', async () => {
    const [box, { read }] = await started(({ make }) => make('work/.git', 'gitdir: /elsewhere'))
    expect(box.plan.notes).toEqual([])
    await sh(box, 'cd work; echo x > .git; mv .git moved; rm -f .git; mkdir -p .git/hooks')
    expect(read('work/.git')).toBe('gitdir: /elsewhere')
  })

  it.each([
    ['in the place of the directory', 'work/.git', () => undefined],
    ['in its own place', 'work/.git/hooks', ({ make }: Place) => make('work/.git')],
  ] as const)('cannot be replaced if it is a pipe %s', async (_, name, prepare) => {
    const [box, { tree }] = await started((at) => {
      prepare(at)
      execFileSync('mkfifo', [join(at.tree, name)])
    })
    expect(await sh(box, `cat ${name}; mv ${name} x; rm -f ${name}; mkdir -p work/.git/hooks; echo done`)).toMatch(
      /busy[^]*done/,
    )
    await box.stop()
    expect(fs.lstatSync(join(tree, name)).isFIFO()).toBe(true)
  })

  it.each([
    ['.git', 'work/.git', () => undefined],
    ['.git/hooks', 'work/.git/hooks', ({ make }: Place) => make('work/.git')],
    ['all of the content', 'work', ({ tree }: Place) => fs.rmdirSync(join(tree, 'work'))],
  ] as const)('is left alone, and told, if a link stands for %s', async (_, name, prepare) => {
    const [box] = await started((at) => {
      prepare(at)
      fs.symlinkSync('/nowhere', join(at.tree, name))
    })
    expect(box.plan.notes).toEqual([expect.stringContaining(`${name} is a link`)])
    expect(await sh(box, 'echo runs')).toBe('runs\n')
  })

  it('is left alone, and told, if the content is no directory', async () => {
    const [box, { tree }] = await started((at) => {
      fs.rmdirSync(join(at.tree, 'work'))
      at.make('work', 'text')
    })
    expect(box.plan.notes).toEqual([expect.stringContaining(': work is no directory')])
    await sh(box, 'rm work; mkdir work')
    expect(fs.statSync(join(tree, 'work')).isDirectory()).toBe(true)
  })

  it('is not to be had by closing its directory for the next sandbox', async () => {
    const [box, { tree, driver, spec }] = await started(({ make }) => make('work/.git/hooks'))
    await sh(box, 'chmod 0 work/.git')
    await box.stop()
    await using next = await startPlanned(driver, 'box_2', { ...spec, protectWithin })
    expect(next.plan.notes).toHaveLength(isRoot ? 0 : 1)
    await sh(next, 'chmod 700 work/.git; touch work/.git/hooks/x')
    await next.stop()
    fs.chmodSync(join(tree, 'work/.git'), 0o700)
    expect(fs.readdirSync(join(tree, 'work/.git/hooks'))).toEqual([])
  })

  it('is refused as before if it has to be held', async () => {
    const { driver, spec, make } = opened('namespace')
    make('.git', 'gitdir: /elsewhere')
    const starting = startPlanned(driver, 'box_1', { ...spec, protect: ['.git/hooks'] })
    await expect(starting).rejects.toEqual(code('sandbox_unenforceable'))
  })
})

describe('what is bound', () => {
  it.each(['.aw', '.aw/below', 'work', 'work/.git', 'work/.git/hooks', 'work/.git/hooks/below'])(
    'does not get in the way of what is protected: %s',
    async (name) => {
      const { driver, spec, base, make } = opened('namespace')
      make('work/.git/hooks')
      const binds = [{ source: base, target: `/workspace/${name}`, writable: true }]
      const asked = { ...spec, protect: ['.aw'], protectWithin, binds }
      await expect(driver.plan(asked)).rejects.toEqual(code('invalid_input'))
      expect(await driver.list()).toEqual([])
    },
  )

  it('has a place of its own', async () => {
    const { driver, spec, base } = opened('namespace')
    const bind = { source: base, target: '/shared/a', writable: true }
    await expect(driver.plan({ ...spec, binds: [bind, { ...bind, writable: false }] })).rejects.toEqual(
      code('invalid_input'),
    )
  })
})

describe('the network of the host', () => {
  const listen = 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("\\0aw-test"); print("made")'
  const program = '/opt/node'
  const parent = `
    const { fork } = require("child_process")
    require("fs").writeFileSync("/tmp/child.js", "process.send(41 + 1)")
    fork("/tmp/child.js").on("message", (told) => console.log("told", told))`

  it('has sockets that no directory keeps anybody from, so none are made there; pairs are', async () => {
    const at = opened('namespace')
    const binds = [{ source: process.execPath, target: program, writable: false }]
    const box = await startPlanned(at.driver, 'box_1', { ...at.spec, network: { mode: 'host' }, binds })
    const python = (script: string): Promise<string> => sh(box, `python3 -c '${script}'`)
    expect(await python(listen.replace('\\0', '/tmp/'))).toMatch(/not supported/)
    expect(await python('import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))')).toBe("b'x'\n")
    expect(await python('import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)')).toMatch(/not supported/)
    expect(await python('import socket; socket.socket(socket.AF_INET); print("inet")')).toBe('inet\n')
    expect(await sh(box, `${program} -e '${parent}'`)).toBe('told 42\n')
  })

  it('is not that of other boxes, which have all sockets', async () => {
    const at = opened('namespace')
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    expect(await sh(box, `python3 -c '${listen}'`)).toBe('made\n')
  })
})

describe('git in a box', () => {
  const commit = 'git init -q . && git add . && git commit -qm one && git log -1 --format="%an <%ae>"'

  it('commits as whom it was told, whatever is in the name', async () => {
    const at = opened('namespace')
    at.make('file', 'text')
    const gitUser = { name: 'A "b" \\ c # d ;\n[core] editor = x', email: 'a@example.org' }
    await using box = await startPlanned(at.driver, 'box_1', { ...at.spec, gitUser })
    expect(await sh(box, commit)).toBe('A "b" \\ c # d ; [core] editor = x <a@example.org>\n')
    expect(await sh(box, 'git config core.editor; git config user.name me; git log -0; git config user.name')).toBe(
      'me\n',
    )
  })

  it('tells of no name that is there only to be protected, and leaves it alone', async () => {
    const at = opened('namespace')
    at.make('work/file', 'text')
    execFileSync('git', ['init', '-q', join(at.tree, 'work')])
    if (isRoot) execFileSync('chown', ['-R', `--reference=${at.tree}`, at.tree])
    const gitUser = { name: 'a', email: 'a@example.org' }
    const names = ['work/.mcp.json', 'work/.claude', 'work/.git/hooks', 'work/a b!.json', 'work/[x]*.json']
    await using box = await startPlanned(at.driver, 'box_1', {
      ...at.spec,
      content: 'work',
      gitUser,
      protectWithin: names,
    })
    expect(await sh(box, 'cd work; git status --short; ls -A')).toBe(
      '?? file\n.claude\n.git\n.mcp.json\n[x]*.json\na b!.json\nfile\n',
    )
    expect(await sh(box, 'cd work; git add -A && git commit -qm all && git show --format= --name-only')).toBe('file\n')
    expect(await sh(box, 'cd work; git clean -fd && git status --short; touch x.json; git status --short')).toBe(
      '?? x.json\n',
    )
    // Below the root they are as good as any others.
    expect(await sh(box, 'cd work; mkdir deep; touch deep/.mcp.json; git status --short -uall')).toContain(
      'deep/.mcp.json',
    )
    // A repository may begin above the content, too.
    expect(await sh(box, 'git init -q . && mv work/.git/HEAD work/x; git status --short -uall')).not.toMatch(
      /work\/\.mcp/,
    )
  })

  it('adds what only ends as a name that is there to be protected', async () => {
    const at = opened('namespace')
    at.make('work/.opencode/x', 'text')
    for (const path of ['work/plugin/a', 'work/deep/.opencode/plugin/a', 'plugin/a']) at.make(path, 'text')
    execFileSync('git', ['init', '-q', join(at.tree, 'work')])
    if (isRoot) execFileSync('chown', ['-R', `--reference=${at.tree}`, at.tree])
    const held = { content: 'work', gitUser: { name: 'a', email: 'a@example.org' } }
    const protectWithin = ['work/.opencode/plugin']
    await using box = await startPlanned(at.driver, 'box_1', { ...at.spec, ...held, protectWithin })
    const added = 'git add -A && git diff --cached --name-only'
    expect(await sh(box, `cd work; touch .opencode/plugin/x; ${added}`)).toMatch(
      /Read-only[^\n]*\n\.opencode\/x\ndeep\/\.opencode\/plugin\/a\nplugin\/a\n$/,
    )
    expect(await sh(box, `rm -rf work/.git; git init -q .; ${added}`)).toBe(
      'plugin/a\nwork/.opencode/x\nwork/deep/.opencode/plugin/a\nwork/plugin/a\n',
    )
  })

  it('leaves out what another sandbox has there to be protected', async () => {
    const at = opened('namespace')
    at.make('file', 'text')
    const spec = { ...at.spec, gitUser: { name: 'a', email: 'a@example.org' } }
    await using first = await startPlanned(at.driver, 'box_1', { ...spec, protectWithin: ['.mcp.json'] })
    await using second = await startPlanned(at.driver, 'box_2', spec)
    expect(await sh(second, 'git init -q .; ls -A; git add -A && git diff --cached --name-only')).toBe(
      '.git\n.mcp.json\nfile\nfile\n',
    )
    await first.stop()
  })

  it('looks at repositories of others', async () => {
    const at = opened('namespace')
    at.make('file', 'text')
    const gitUser = { name: 'a', email: 'a@example.org' }
    await using box = await startPlanned(at.driver, 'box_1', { ...at.spec, gitUser, binds: [systemRepository(at)] })
    expect(await sh(box, `${commit}; git -C /opt/other rev-parse --is-inside-work-tree`)).toMatch(/true\n$/)
  })
})

/** One of a user that the box is not, where root can make it. */
function systemRepository({ base }: Place): { source: string; target: string; writable: boolean } {
  const source = join(base, 'other')
  fs.mkdirSync(source)
  execFileSync('git', ['init', '-q', source])
  if (isRoot) execFileSync('chown', ['-R', '61000:61000', source])
  if (isRoot) execFileSync('chown', ['-R', '4242:4242', join(source, '.git')])
  return { source, target: '/opt/other', writable: false }
}
