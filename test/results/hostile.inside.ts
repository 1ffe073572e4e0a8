/**
 * What an agent can leave in a workspace so that whoever looks at it with git runs a program of the agent's, or reads what
 * is none of the agent's business. Each is first shown to work with plain git, then aw diff and every export meet it.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Inputs } from '../../src/api/table.ts'
import { inRoot } from '../../tools/root.ts'
import { sh } from '../sandbox/exec/run-script.ts'
import { codeOf, makeRepository, openGround, type Ground } from '../sources/fixture.ts'
import { git, gitBytes, listing, stateOf } from './fixture.ts'

const secret = 'the secret of somebody else'

interface Scene extends Ground {
  readonly repo: string
  /** Made by each program of the agent's that runs outside. */
  readonly canary: string
  /** A file, and a repository, that are none of the agent's. */
  readonly outside: string
}

async function openScene(): Promise<Scene> {
  // The agent's own sandbox protects some of it; what matters is what comes out of one that did not.
  const ground = await openGround({ 'sandbox.protect': '' })
  const repo = makeRepository(ground)
  const outside = makeRepository(ground, 'outside')
  fs.writeFileSync(join(outside, 'secret'), `${secret}\n`)
  git(outside, ['add', '.'])
  git(outside, ['commit', '-q', '-m', secret])
  return { ...ground, repo, canary: join(ground.base, 'canary'), outside }
}

const fired = ({ canary }: Scene): string[] =>
  fs.existsSync(canary) ? fs.readFileSync(canary, 'utf8').trim().split('\n').toSorted() : []

/** A program that says its name to the outside, where it can. Those that talk to git do not wait for an answer. */
const evil = ({ canary }: Scene, name: string): string => {
  const passes = ['clean', 'smudge', 'textconv', 'monitor', 'included'].includes(name) ? 'cat' : 'true'
  return `printf '#!/bin/sh\\necho ${name} >> ${canary}\\n${passes}\\n' > .git/${name}; chmod +x .git/${name}`
}

/** Plain git, in a copy of the workspace: what it prints, whatever its exit code. */
function plainly(scene: Scene, id: string, ...commands: string[][]): string {
  const copy = join(scene.base, `copy-of-${id}`)
  execFileSync('cp', ['-a', join(scene.home, 'workspaces', id, 'main', 'work'), copy])
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' }
  const who = ['-c', 'safe.directory=*', '-c', 'user.name=x', '-c', 'user.email=x@y']
  return commands
    .map((args) => {
      const [first = '', ...rest] = args
      const where = first.startsWith('@') ? join(copy, first.slice(1)) : copy
      const words = first.startsWith('@') ? rest : args
      const { stdout, stderr } = spawnSync('git', [...who, ...words], {
        cwd: where,
        env,
        encoding: 'latin1',
        timeout: 5_000,
      })
      return stdout + stderr
    })
    .join('')
}

interface Looked {
  readonly codes: Record<string, string>
  /** Everything that came out, as one text. */
  readonly all: string
}

/** Everything that aw does with it: what comes out, or the code of the error. */
async function lookAtAll(scene: Scene, id: string): Promise<Looked> {
  const { aw, repo, base } = scene
  const file = join(base, `${id}.bundle`)
  const codes: Record<string, string> = {}
  let all = JSON.stringify(await aw.diff(`${id}@start`, id, { text: true }))
  const asked: Record<string, Omit<Inputs['export'], 'of'>> = {
    patch: { patch: true, ignored: true },
    branch: { branch: `from/${id}`, repo },
    squashed: { branch: `squashed/${id}`, repo, squash: true },
    bundle: { bundle: file },
  }
  for (const [name, input] of Object.entries(asked)) {
    const told = aw.export({ of: id, ...input })
    codes[name] = await codeOf(told)
    const { patch } = await told.catch(() => ({ patch: undefined }))
    if (patch !== undefined) all += Buffer.from(patch as Uint8Array).toString('latin1')
  }
  for (const branch of [`from/${id}`, `squashed/${id}`])
    if (git(repo, ['branch', '--list', branch]) !== '')
      all += git(repo, ['log', '-p', '-c', '--root', `main..${branch}`])
  if (codes['bundle'] === 'done') git(repo, ['bundle', 'verify', '-q', file])
  expect(git(repo, ['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
  for (const args of [['status'], ['diff', 'HEAD'], ['log', '-p', '--all']]) all += throughAw(scene, id, args)
  return { codes, all }
}

/** `aw git`, as users have it: in the workspace itself, where whatever the agent has named may run. */
function throughAw({ home, base }: Scene, id: string, args: readonly string[]): string {
  const argv = [inRoot('dist/aw.cjs'), 'git', id, '--', ...args]
  const env = { PATH: process.env['PATH'], HOME: base, AW_HOME: home }
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { env, encoding: 'latin1', timeout: 60_000 })
  // 125 and above are for what aw could not do.
  expect([id, args, status !== null && status !== 125, stderr]).toEqual([id, args, true, stderr])
  return stdout + stderr
}

async function made(scene: Scene, id: string, script: string): Promise<void> {
  await scene.aw.create({ id, repo: scene.repo })
  await scene.aw.snapshot(id, { label: 'start' })
  await sh(scene.aw, id, script)
}

const allDone = { patch: 'done', branch: 'done', squashed: 'done', bundle: 'done' }

it('programs that the configuration names', { timeout: 120_000 }, async () => {
  const scene = await openScene()
  const names = [
    'monitor',
    'hook',
    'clean',
    'process',
    'textconv',
    'external',
    'signer',
    'included',
    'own',
    'lazy',
    'smudge',
  ]
  await made(
    scene,
    'config',
    `${names.map((name) => evil(scene, name)).join('\n')}
    echo '*.c filter=c' > .gitattributes; echo '*.p filter=p' >> .gitattributes; echo '*.t diff=t' >> .gitattributes
    for name in a.c a.p a.t; do echo one > $name; done
    git add .; git commit -q -m first; for name in a.c a.p a.t; do echo two > $name; done
    mkdir .git/hooks-of-mine; mv .git/hook .git/hooks-of-mine/post-commit
    git config core.hooksPath $PWD/.git/hooks-of-mine
    git config filter.c.clean .git/clean; git config filter.c.smudge .git/smudge; git config filter.p.process .git/process
    git config diff.t.textconv .git/textconv
    git config alias.x '!.git/external'
    git config gpg.program .git/signer
    git config extensions.worktreeConfig true; git config --worktree core.editor .git/own
    printf '[core]\\n\\tfsmonitor = .git/included\\n' > .git/more; git config include.path more
    git config remote.origin.promisor true; git config remote.origin.url 'ext::.git/lazy %S'
    git config protocol.ext.allow always; git config extensions.partialClone origin`,
  )
  plainly(
    scene,
    'config',
    // What fails must not keep the others from being shown.
    ['-c', 'filter.p.process=', '-c', 'core.hooksPath=.git/hooks-of-mine', 'commit', '-q', '--allow-empty', '-m', 'x'],
    ['-c', 'filter.p.process=', 'commit', '-q', '--allow-empty', '-S', '-m', 'x'],
    ['-c', 'filter.p.process=', 'commit', '--allow-empty'],
    ['status'],
    ['-c', 'core.fsmonitor=.git/monitor', 'status'],
    ['add', '.'],
    ['-c', 'filter.p.process=', 'checkout', '-f', 'HEAD', '--', 'a.c'],
    ['log', '-p', '-1', '--', 'a.t'],
    ['diff', '--', 'a.t'],
    ['x'],
    ['cat-file', '-p', '1234567890123456789012345678901234567890'],
  )
  const expected = [
    'clean',
    'external',
    'hook',
    'included',
    'lazy',
    'monitor',
    'own',
    'process',
    'signer',
    'smudge',
    'textconv',
  ]
  expect([...new Set(fired(scene))]).toEqual(expected)
  fs.rmSync(scene.canary)
  const before = stateOf(scene.repo)
  const { codes, all } = await lookAtAll(scene, 'config')
  expect(codes).toEqual(allDone)
  expect(throughAw(scene, 'config', ['log', '--format=told %s', '-1'])).toContain('told first\n')
  expect(fired(scene)).toEqual([])
  expect(all).not.toContain(secret)
  expect(stateOf(scene.repo).rest).toEqual(before.rest)
  const files = listing(scene.repo, 'from/config').map((line) => line.split('\t')[1])
  expect(files).toEqual(['.gitattributes', 'README', 'a.c', 'a.p', 'a.t', 'src/main.ts'])
  expect(gitBytes(scene.repo, ['cat-file', 'blob', 'from/config:a.c']).toString()).toBe('two\n')
})

it('programs that a submodule names, and repositories that it leads to', { timeout: 120_000 }, async () => {
  const scene = await openScene()
  const { outside } = scene
  const programs = ['update', 'below', 'above'].map((name) => evil(scene, name)).join('\n')
  await made(
    scene,
    'sub',
    `${programs}
    git init -q sub; cd sub; echo one > a; git add a; git commit -q -m sub; cd ..
    mkdir -p .git/modules; mv sub/.git .git/modules/sub; echo 'gitdir: ../.git/modules/sub' > sub/.git
    git config -f .git/modules/sub/config core.worktree ../../../sub
    printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules
    printf '[submodule "out"]\\n\\tpath = out\\n\\turl = ${outside}\\n' >> .gitmodules
    git config submodule.sub.update '!../.git/update'; git config submodule.sub.url ./sub; git config submodule.sub.active true
    git config submodule.recurse true; git config diff.submodule log
    git config status.submoduleSummary true; git config core.fsmonitor '.git/above; false'
    git add .gitmodules sub; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),out
    git commit -q -m subs; echo two > sub/a; git -C sub commit -q -a -m two; echo three > sub/a
    mkdir stolen; echo 'gitdir: ${outside}/.git' > stolen/.git
    git config -f .git/modules/sub/config core.fsmonitor "../.git/below; false"`,
  )
  const plain = plainly(
    scene,
    'sub',
    ['status'],
    ['-c', 'core.fsmonitor=false', 'submodule', 'update', '--force', 'sub'],
    ['@stolen', 'log', '-p'],
  )
  expect([...new Set(fired(scene))]).toEqual(['above', 'below', 'update'])
  expect(plain).toContain(secret)
  fs.rmSync(scene.canary)
  const { codes, all } = await lookAtAll(scene, 'sub')
  expect(fired(scene)).toEqual([])
  expect(all).not.toContain(secret)
  expect([codes['patch'], codes['squashed']]).toEqual(['done', 'done'])
})

it('a repository that is elsewhere: a file, a link, a common directory, alternates', { timeout: 120_000 }, async () => {
  const scene = await openScene()
  const { outside } = scene
  const monitored = `${evil(scene, 'monitor')}; git config core.fsmonitor .git/monitor`
  const moved = `${monitored}; mv .git other; git config -f other/config core.fsmonitor other/monitor`
  const cases: Record<string, [script: string, plain: string[], wanted: string]> = {
    file: [`${moved}; echo 'gitdir: other' > .git`, ['status'], 'monitor'],
    link: [`${moved}; ln -s other .git`, ['status'], 'monitor'],
    common: [
      `${moved}; mkdir .git; echo ../other > .git/commondir; cp other/HEAD other/index .git/; echo x > y`,
      ['status'],
      'monitor',
    ],
    'bare-below': [
      `${monitored}; mkdir sub; cp -r .git/HEAD .git/objects .git/refs .git/config .git/index .git/monitor sub/
      git config --unset core.fsmonitor; git config -f sub/config core.worktree ..; git config -f sub/config core.fsmonitor sub/monitor`,
      ['@sub', 'status'],
      'monitor',
    ],
    outside: [`rm -rf .git; echo 'gitdir: ${outside}/.git' > .git`, ['log'], secret],
    linked: [`rm -rf .git; ln -s ${outside}/.git .git`, ['log'], secret],
    borrowing: [
      `echo ${outside}/.git/objects > .git/objects/info/alternates; echo ${git(outside, ['rev-parse', 'HEAD'])} > .git/refs/heads/main`,
      ['log', '-p'],
      secret,
    ],
    worktree: [`git config core.worktree ${outside}`, ['diff', 'HEAD', '--', 'secret', 'README'], 'deleted file'],
  }
  for (const [id, [script, plain, wanted]] of Object.entries(cases)) {
    await made(scene, id, script)
    const printed = plainly(scene, id, plain)
    const seen = wanted === 'monitor' ? fired(scene).join() : printed
    expect([id, seen.includes(wanted)]).toEqual([id, wanted !== 'deleted file'])
    fs.rmSync(scene.canary, { force: true })
    const { codes, all } = await lookAtAll(scene, id)
    expect([id, fired(scene)]).toEqual([id, []])
    expect([id, all.includes(secret)]).toEqual([id, false])
    // What is in the files comes out, whatever became of the history.
    expect([id, codes['squashed'], codes['patch']]).toEqual([id, 'done', codes['patch']])
  }
})

it(
  'history that is not what it says: replaced and grafted commits, odd names of branches',
  { timeout: 120_000 },
  async () => {
    const scene = await openScene()
    const { repo } = scene
    const main = git(repo, ['rev-parse', 'main'])
    const other = `$(git commit-tree -m replaced $(git mktree < /dev/null))`
    const cases: Record<string, string> = {
      replaced: `echo x > x; git add x; git commit -q -m true; git replace HEAD ${other}`,
      'replaced-base': `echo x > x; git add x; git commit -q -m true; git replace HEAD~1 ${other}`,
      grafted: `echo x > x; git add x; git commit -q -m true; mkdir -p .git/info; echo "$(git rev-parse HEAD) ${other}" > .git/info/grafts`,
      dashed: `echo x > x; git add x; git commit -q -m true; git rev-parse HEAD > '.git/refs/heads/--output=x'; echo 'ref: refs/heads/--output=x' > .git/HEAD`,
      detached: `echo x > x; git add x; git commit -q -m true; git checkout -q --detach`,
    }
    for (const [id, script] of Object.entries(cases)) {
      await made(scene, id, script)
      const { codes } = await lookAtAll(scene, id)
      expect([id, codes]).toEqual([id, allDone])
      expect([id, git(repo, ['log', '--format=%s|%P', `main..from/${id}`])]).toEqual([id, `true|${main}`])
      expect(listing(repo, `from/${id}`).map((line) => line.split('\t')[1])).toEqual(['README', 'src/main.ts', 'x'])
    }
    const plain = git(join(scene.home, 'workspaces/replaced/main/work'), ['log', '-1', '--format=%s'])
    expect(plain).toBe('replaced')
  },
)

it(
  'commits that no repository should have are refused, and what is in the files is not',
  { timeout: 120_000 },
  async () => {
    const scene = await openScene()
    const { repo } = scene
    const tree = (name: string): string =>
      `b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\t%s\\n' $b '${name}' | git mktree); c=$(git commit-tree -p HEAD -m evil $t); echo $c > .git/refs/heads/main`
    const cases: Record<string, string> = {
      git: tree('.git'),
      short: tree('GIT~1'),
      up: tree('..'),
      unseen: tree('.g\u200cit'),
      missing: `b=$(echo gone | git hash-object -w --stdin); echo gone > f; git add f; git commit -q -m x; rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)`,
      damaged: `echo y > y; git add y; git commit -q -m x; f=.git/objects/$(git rev-parse HEAD^{tree} | sed 's:^..:&/:'); chmod +w $f; echo rubbish > $f`,
      bomb: `b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tx\\n' $b | git mktree)
      for i in 1 2 3 4 5 6 7 8 9; do t=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $t $n; done | git mktree); done
      c=$(git commit-tree -p HEAD -m bomb $t); echo $c > .git/refs/heads/main`,
      'no-commit': `t=$(git rev-parse HEAD^{tree}); echo $t > .git/refs/heads/main; echo x > x`,
    }
    for (const [id, script] of Object.entries(cases)) {
      await made(scene, id, script)
      const before = stateOf(repo)
      expect([id, await codeOf(scene.aw.export({ of: id, branch: `bad/${id}`, repo }))]).toEqual([
        id,
        id === 'no-commit' ? 'done' : 'export_failed',
      ])
      if (id !== 'no-commit') expect(stateOf(repo)).toEqual(before)
      await scene.aw.export({ of: id, branch: `squashed/${id}`, repo, squash: true })
    }
    expect(git(repo, ['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
  },
)

it('links, names of git, pipes and endless files in the tree', { timeout: 120_000 }, async () => {
  const scene = await openScene()
  const { repo, outside, aw } = scene
  await made(
    scene,
    'files',
    `ln -s ${outside}/secret link; ln -s ${outside} folder; rm README; ln -s ${outside}/secret README
    ln -s ${outside}/secret .gitignore; rm -f .git/info/exclude; mkdir -p .git/info; ln -s ${outside}/secret .git/info/exclude
    mkfifo pipe; mkdir -p sub/.GIT 'git~1' 'sub/.git '; echo x > sub/.GIT/config; echo x > 'git~1/config'; echo x > 'sub/.git /x'
    ln -s ${outside}/secret .gitmodules; ln /etc/hostname hard 2> /dev/null || true; chmod 000 src; printf 'x' > "$(printf 'a\\nb\\377')"`,
  )
  const { codes, all } = await lookAtAll(scene, 'files')
  expect(codes).toEqual(allDone)
  expect(all).not.toContain(secret)
  const told = await aw.export({ of: 'files', branch: 'again', repo })
  expect(told.left_out?.map(({ path, reason }) => `${path}: ${reason}`).toSorted()).toEqual([
    '.gitmodules: link in the place of .gitmodules',
    'git~1: reserved name',
    'pipe: fifo',
    'sub/.GIT: reserved name',
    'sub/.git : reserved name',
  ])
  expect(git(repo, ['cat-file', 'blob', 'again:link'])).toBe(`${outside}/secret`)
  expect(git(repo, ['cat-file', 'blob', 'again:src/main.ts'])).toBe('export {}')
  await sh(aw, 'files', 'truncate -s 4T huge')
  expect(await codeOf(aw.export({ of: 'files', branch: 'huge', repo }))).toBe('export_failed')
  expect(await codeOf(aw.export({ of: 'files', patch: true }))).toBe('export_failed')
})
