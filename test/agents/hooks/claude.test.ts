import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { text } from 'node:stream/consumers'
import { sample, scene, stateOf } from './scene.ts'

test.each([
  ['create-session', 'web/feature-login', '34fb1a3d-6665-4fac-a3fe-44698d2347e4'],
  ['create-subagent', 'web/agent-a997ffc82eac98a6a', '62681a62-4367-4c51-b454-baf4d71e0fe2'],
  ['create-entered', 'web/entered', '44147018-4a1a-4d01-ad26-42532899b433'],
] as const)(
  '%s: a workspace with the whole state of the folder, and its path alone on standard output',
  (kind, name, session) => {
    using own = scene()
    const before = stateOf(own)
    const { code, stdout, stderr, path } = own.create({}, kind)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`${path}\n`)
    expect(path.startsWith(own.repository)).toBe(false)
    for (const file of ['a.txt', '.env', 'untracked.txt', 'node_modules/x/index.js'])
      expect(readFileSync(join(path, file), 'utf8')).toBe(readFileSync(join(own.repository, file), 'utf8'))
    expect(own.sh(`cd ${path} && git status --porcelain && git rev-parse --show-toplevel --absolute-git-dir`)).toBe(
      `?? untracked.txt\n${path}\n${path}/.git\n`,
    )
    expect(own.workspaces()).toMatchObject([
      { workspace_id: name, labels: { 'claude.session': session, 'claude.cwd': own.repository } },
    ])
    own.sh(`cd ${path} && git switch -qc work && echo two > a.txt && git commit -qam two && git gc -q && git stash -uq`)
    expect(stateOf(own)).toBe(before)
  },
)

test('from a directory below, the whole work tree', () => {
  using own = scene()
  own.sh('mkdir -p web/packages/a && echo x > web/packages/a/x')
  const { path } = own.create({ cwd: join(own.repository, 'packages/a') })
  expect(readFileSync(join(path, 'packages/a/x'), 'utf8')).toBe('x\n')
  expect(existsSync(join(path, '.git/HEAD'))).toBe(true)
})

test('what was done there can be kept, and taken back, under the session that goes on', () => {
  using own = scene()
  const { path } = own.create()
  const [{ workspace_id: name } = { workspace_id: '' }] = own.workspaces()
  own.sh(`cd ${path} && echo kept > kept && git add kept && git commit -qm kept`)
  expect(own.place.aw('snapshot', name, '--label', 'good')).toMatchObject({ code: 0 })
  own.sh(`cd ${path} && rm -r kept .git a.txt && echo lost > lost`)
  const { code, stderr } = own.place.aw('undo', name)
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(own.sh(`cd ${path} && ls && git log --format=%s && git --no-optional-locks status --porcelain`)).toBe(
    'a.txt\nkept\nnode_modules\nuntracked.txt\nkept\none\n?? untracked.txt\n',
  )
  expect(own.place.aw('redo', name).code).toBe(0)
  expect(existsSync(join(path, 'lost'))).toBe(true)
  expect(own.remove(path).code).toBe(0)
})

test('what changed there is told without a snapshot, and can be applied to the folder', () => {
  using own = scene()
  const { path } = own.create()
  const [{ workspace_id: name } = { workspace_id: '' }] = own.workspaces()
  expect(own.place.aw('diff', name)).toMatchObject({ code: 0, stdout: '', stderr: '' })
  own.sh(`cd ${path} && echo two > a.txt && rm untracked.txt && echo fresh > b.txt`)
  expect(own.place.aw('diff', name)).toMatchObject({
    code: 0,
    stdout: 'M\ta.txt\tcontent\nA\tb.txt\nD\tuntracked.txt\n',
  })
  expect(own.place.aw('diff', name, '--text').stdout).toContain('\n-one\n+two\n')
  const { code, stdout: patch } = own.place.aw('export', name, '--patch')
  expect(code).toBe(0)
  writeFileSync(join(own.place.folder, 'patch'), patch)
  expect(own.sh('cd web && git apply ../patch && cat a.txt b.txt && ls')).toBe(
    'two\nfresh\na.txt\nb.txt\nnode_modules\n',
  )
})

test('a folder that is no repository', () => {
  using own = scene()
  own.sh('mkdir plain && echo x > plain/x')
  const { path } = own.create({ cwd: join(own.place.folder, 'plain') })
  expect(own.sh(`cd ${path} && ls`)).toBe('x\n')
})

test('.worktreeinclude says which of the ignored files come along', () => {
  using own = scene()
  own.sh('echo .env > web/.worktreeinclude')
  const { path } = own.create()
  expect(own.sh(`cd ${path} && ls -A`).split('\n')).not.toContain('node_modules')
  expect(readFileSync(join(path, '.env'), 'utf8')).toBe('KEY=1\n')
})

test('work trees and locks of others do not come along', () => {
  using own = scene()
  own.sh(`cd web && git worktree add -q '.trees/a [b]' -b a && git worktree add -q .claude/worktrees/c -b c
    touch .git/index.lock .git/refs/heads/main.lock`)
  const { path } = own.create()
  expect(
    own.sh(
      `cd ${path} && find . -name '*.lock' && ls -A .trees .claude && git worktree list --porcelain | grep -c ^worktree`,
    ),
  ).toBe('.claude:\n\n.trees:\n1\n')
})

test.each(['web', 'bare.git'])(
  'a linked work tree of %s gets a repository of its own, with its branch and index',
  (main) => {
    using own = scene()
    own.sh(`git clone -q --bare web bare.git
    git -C ${main} worktree add -q ../linked -b feature && cd linked && echo two > b.txt && git add b.txt && echo three > c.txt
    git -C ../web merge-base HEAD HEAD > ../web/.git/MERGE_HEAD`)
    const before = own.sh(`git -C ${main} for-each-ref && git -C linked status --porcelain`)
    const { code, stderr, path } = own.create({ cwd: join(own.place.folder, 'linked') })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(
      own.sh(`cd ${path} && git rev-parse --absolute-git-dir && git branch --show-current && git status --porcelain`),
    ).toBe(`${path}/.git\nfeature\nA  b.txt\n?? c.txt\n`)
    own.sh(`cd ${path} && git commit -qm two && git fsck --strict && git worktree list | grep -c . | grep -qx 1`)
    expect(own.sh(`git -C ${main} for-each-ref && git -C linked status --porcelain`)).toBe(before)
  },
)

test('in a workspace, a fork of it: what the session has done so far comes along', () => {
  using own = scene()
  const outer = own.create()
  own.sh(`mkdir ${outer.path}/below && echo changed > ${outer.path}/a.txt`)
  const inner = own.create({ cwd: join(outer.path, 'below') }, 'create-subagent')
  expect(inner).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(join(inner.path, 'a.txt'), 'utf8')).toBe('changed\n')
  own.sh(`echo inner > ${inner.path}/a.txt`)
  expect(readFileSync(join(outer.path, 'a.txt'), 'utf8')).toBe('changed\n')
  expect(own.remove(inner.path).code).toBe(0)
  expect(existsSync(outer.path)).toBe(true)
})

test('9 at once from one repository, in a home that is not there yet, all with the same name', async () => {
  using own = scene()
  const runs = Array.from({ length: 9 }, async () => {
    const child = own.place.start('hook', 'claude')
    child.stdin.end(sample('create-session', { cwd: own.repository }))
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { out, err }
  })
  const all = await Promise.all(runs)
  expect(all.map(({ err }) => err)).toEqual(Array(9).fill(''))
  const paths = new Set(all.map(({ out }) => out.trim()))
  expect(paths.size).toBe(9)
  for (const path of paths)
    expect(own.sh(`cd ${path} && git fsck 2>&1 && git status --porcelain`)).toBe('?? untracked.txt\n')
  expect(new Set(own.workspaces().map(({ workspace_id }) => workspace_id)).size).toBe(9)
})

test.each([
  ['no JSON', '{', 'not the JSON object'],
  ['nothing', '', 'not the JSON object'],
  ['another event', '{"hook_event_name":"Stop"}', 'not "Stop"'],
  ['no folder', '{"hook_event_name":"WorktreeCreate","name":"x"}', 'cwd must be an absolute path'],
  ['no path', '{"hook_event_name":"WorktreeRemove","worktree_path":"web"}', 'worktree_path must be an absolute path'],
  [
    'a folder that is not there',
    '{"hook_event_name":"WorktreeCreate","name":"x","cwd":"/not/there"}',
    'cannot be read',
  ],
  ['the whole machine', '{"hook_event_name":"WorktreeCreate","name":"x","cwd":"/"}', 'is the whole machine'],
])('%s: said on standard error, with 1, and nothing is made', (_, payload, said) => {
  using own = scene()
  const ran = own.place.awWith(payload, 'hook', 'claude')
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toContain(said)
  expect([...own.workspaces(), ...own.workspaces('--trashed')]).toEqual([])
})

test.each([
  ['.git is a link', 'mv .git ../elsewhere && ln -s ../elsewhere .git'],
  ['.git names another repository', 'mv .git ../elsewhere && echo "gitdir: ../elsewhere" > .git'],
  ['it borrows objects', 'echo ../../../other/.git/objects > .git/objects/info/alternates'],
  ['it names another work tree', 'git config core.worktree "$PWD/../other"'],
])('%s: refused, for git in the copy would reach elsewhere', (_, script) => {
  using own = scene()
  own.sh(`git clone -q web other && cd web && ${script}`)
  const ran = own.create()
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toMatch(/^aw: .*\n {2}hint: /)
  expect([...own.workspaces(), ...own.workspaces('--trashed')]).toEqual([])
})

test('a name is made safe, whatever it is', () => {
  using own = scene()
  for (const name of ['../../x', 'ÄÖ /\n$(touch x)', '', '-', 'a'.repeat(300)]) {
    const { code, path, stdout } = own.create({ name })
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${path}\n` })
  }
  expect(own.workspaces().map(({ workspace_id }) => workspace_id)).toEqual([
    'web/x',
    expect.stringMatching(/^web\/a-?o-touch-x$/),
    'web/workspace',
    expect.stringMatching(/^web\/workspace-\w{6}$/),
    `web/${'a'.repeat(50)}`,
  ])
})

test('nothing of a repository runs, neither when a workspace is made nor when it is removed', () => {
  using own = scene()
  const ran = join(own.place.folder, 'ran')
  own.sh(`cat > evil <<END
#!/bin/sh
touch ${ran}
END
    chmod +x evil && cd web
    for hook in post-checkout pre-commit post-index-change reference-transaction post-merge fsmonitor-watchman; do cp ../evil .git/hooks/$hook; done
    for key in core.fsmonitor core.sshCommand core.pager core.editor diff.external gpg.program credential.helper uploadpack.packObjectsHook filter.x.clean filter.x.smudge filter.x.process merge.x.driver alias.status; do git config $key "$PWD/../evil"; done
    echo '* filter=x merge=x diff=x' > .gitattributes && cp .gitattributes .git/info/attributes
    ln -s /etc etc && ln -s ../../.. up && mkfifo pipe && ln -sf /dev/zero .worktreeinclude`)
  const made = own.create()
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(own.remove(made.path).code).toBe(0)
  expect(existsSync(ran)).toBe(false)
})

test('settings that belong to somebody else are not touched', () => {
  using own = scene()
  const { code, stdout, stderr } = own.place.sh('CLAUDE_CONFIG_DIR=/etc aw hook install claude --yes')
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
  expect(stderr).toContain('belongs to somebody else')
  expect(existsSync('/etc/settings.json')).toBe(false)
})
