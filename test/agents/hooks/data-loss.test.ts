/** Reports of work that was lost with git worktrees, by their numbers at github.com/anthropics/claude-code/issues. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scene, withProcess, type Scene } from './scene.ts'

const commit = (own: Scene, path: string, ...messages: string[]): void => {
  for (const message of messages) own.sh(`cd ${path} && echo ${message} >> a.txt && git commit -qam ${message}`)
}

/** By what the hook has said. */
function broughtBack(own: Scene, stderr: string): string {
  const id = /aw undelete (ws_\w+)/.exec(stderr)?.[1] ?? ''
  const { code, stdout } = own.place.aw('undelete', id, '--json')
  expect(code).toBe(0)
  return (JSON.parse(stdout) as { path: string }).path
}

const log = (own: Scene, path: string): string => own.sh(`cd ${path} && git log --format=%s`)

test('38287: commits that were never pushed nor merged survive the end of their worktree, on their branch', () => {
  using own = scene()
  const { path } = own.create()
  own.sh(`cd ${path} && git switch -qc worktree-login`)
  commit(own, path, 'two', 'three')
  const { code, stderr } = own.remove(path)
  expect({ code, gone: !existsSync(path) }).toEqual({ code: 0, gone: true })
  const back = broughtBack(own, stderr)
  expect(log(own, back)).toBe('three\ntwo\none\n')
  expect(own.sh(`cd ${back} && git branch --show-current`)).toBe('worktree-login\n')
})

test('79899: five unpushed commits of the second worktree of a session, whose first was removed before', () => {
  using own = scene()
  const first = own.create({ name: 'first' })
  expect(own.remove(first.path).code).toBe(0)
  const second = own.create({ name: 'second' })
  commit(own, second.path, '1', '2', '3', '4', '5')
  const back = broughtBack(own, own.remove(second.path).stderr)
  expect(log(own, back)).toBe('5\n4\n3\n2\n1\none\n')
})

test('58885: a worktree that something still writes to is kept whole, and nothing is tried instead', async () => {
  using own = scene()
  const { path } = own.create()
  own.sh(`echo untracked > ${path}/issue-268.ts`)
  const files = own.sh(`cd ${path} && find . | sort`)
  await withProcess(own, `exec 3>> ${path}/.git/bench.log`, () => {
    const { code, stderr } = own.remove(path)
    expect(code).toBe(1)
    expect(stderr).toMatch(/It is kept\. web\/feature-login is in use by bash \(\d+, file\)/)
  })
  expect(own.sh(`cd ${path} && rm .git/bench.log && find . | sort`)).toBe(files)
  const back = broughtBack(own, own.remove(path).stderr)
  expect(readFileSync(join(back, 'issue-268.ts'), 'utf8')).toBe('untracked\n')
})

test('89199: a worktree that the user made is not ours, wherever it lies', () => {
  using own = scene()
  own.sh('cd web && git worktree add -q .claude/worktrees/mine -b mine && echo x > .claude/worktrees/mine/x')
  const mine = join(own.repository, '.claude/worktrees/mine')
  expect(own.remove(mine)).toMatchObject({ code: 1, stderr: expect.stringContaining('left as it is') as string })
  expect(own.sh(`cat ${mine}/x && git -C web worktree list | grep -c mine`)).toBe('x\n1\n')
  const made = own.place.aw('create', 'by-hand', '--profile', 'repo').stdout.trim()
  expect(own.remove(made).code).toBe(1)
  expect(own.remove(own.sh(`readlink -f ${made}`).trim()).code).toBe(1)
  expect(existsSync(made)).toBe(true)
})

test('96162: what this home knows nothing of is left alone, however many there are', () => {
  using own = scene()
  using other = scene()
  const paths = ['1', '2', '3'].map((name) => other.create({ name }).path)
  // Also under a name that looks like one of ours.
  own.sh(`mkdir -p trees && cp -r web trees/ws_01m7gjdn1ht7mpagfbyeq550g6`)
  const all = [
    ...paths,
    join(own.place.folder, 'trees/ws_01m7gjdn1ht7mpagfbyeq550g6'),
    own.repository,
    own.place.folder,
  ]
  for (const path of all) {
    expect(own.remove(path).code).toBe(1)
    expect(existsSync(path)).toBe(true)
  }
})

test('78350: a worktree that is leased stays until the lease is given back', () => {
  using own = scene()
  const { path } = own.create()
  const lease = JSON.parse(
    own.place.aw('lease', 'acquire', 'web/feature-login', '--holder', 'ci', '--json').stdout,
  ) as {
    id: string
  }
  expect(own.remove(path)).toMatchObject({ code: 1, stderr: expect.stringContaining('is leased by ci') as string })
  expect(existsSync(path)).toBe(true)
  own.place.aw('lease', 'release', 'web/feature-login', lease.id)
  expect(own.remove(path).code).toBe(0)
})

test('88255: the working directory of a session that runs is not taken from under it', async () => {
  using own = scene()
  const { path } = own.create()
  await withProcess(own, `cd ${path}`, () => {
    expect(own.remove(path)).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by bash') as string })
    expect(existsSync(join(path, 'a.txt'))).toBe(true)
  })
})

test('77268: sessions that ask for the same name have a worktree each, and the end of one is not that of the other', () => {
  using own = scene()
  const [one, other] = [own.create(), own.create({ session_id: 'another' })]
  expect(one.path).not.toBe(other.path)
  own.sh(`echo uncommitted > ${other.path}/a.txt`)
  expect(own.remove(one.path).code).toBe(0)
  expect(readFileSync(join(other.path, 'a.txt'), 'utf8')).toBe('uncommitted\n')
})

test('47074: uncommitted work of a worktree that was removed unasked is in the trash, and it is said how to get it', () => {
  using own = scene()
  const { path } = own.create()
  own.sh(`cd ${path} && echo changed > a.txt && echo new > b.txt && echo KEY=2 > .env && git add b.txt`)
  const before = own.sh(
    `cd ${path} && git status --porcelain && find . -type f ! -path './.m/*' -print0 | sort -z | xargs -0 sha256sum`,
  )
  const removed = own.remove(path)
  // Twice is as good as once.
  expect(own.remove(path)).toMatchObject({ code: 0, stderr: expect.stringContaining('in the trash already') as string })
  const back = broughtBack(own, removed.stderr)
  expect(
    own.sh(
      `cd ${back} && git status --porcelain && find . -type f ! -path './.m/*' -print0 | sort -z | xargs -0 sha256sum`,
    ),
  ).toBe(before)
})
