import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { gitInitIn } from './git.ts'
import { findProgram } from './run.ts'

let base: string
const path = process.env['PATH']
const user = { name: 'A. Gent', email: 'a@gent.example' }
const tree = (name = ''): string => join(base, 'tree', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-git-'))
  fs.mkdirSync(tree())
})
afterEach(() => {
  process.env['PATH'] = path
  fs.rmSync(base, { recursive: true, force: true })
})

/** A git that tells that it was run. */
function plant(directory: string): void {
  fs.mkdirSync(directory, { recursive: true })
  fs.writeFileSync(join(directory, 'git'), `#!/bin/sh\necho run > '${join(base, 'run')}'\n`, { mode: 0o755 })
}

describe('the program', () => {
  test.each(['.', '', 'bin', './bin', '../tree/bin'])('is not one of the tree, with %j in PATH', async (entry) => {
    for (const directory of ['', 'bin']) plant(tree(directory))
    const before = process.cwd()
    process.chdir(tree())
    try {
      process.env['PATH'] = `${entry}:${path}`
      await gitInitIn([])(tree(), user)
    } finally {
      process.chdir(before)
    }
    expect(fs.existsSync(join(base, 'run'))).toBe(false)
    expect(fs.existsSync(tree('.git/config'))).toBe(true)
  })

  test.each(['tree/bin', 'link', 'linked'])('is not one of a workspace, at %s', async (entry) => {
    plant(tree('bin'))
    fs.symlinkSync(tree('bin'), join(base, 'link'))
    fs.mkdirSync(join(base, 'linked'))
    fs.symlinkSync(tree('bin/git'), join(base, 'linked/git'))
    process.env['PATH'] = `${join(base, entry)}:${path}`
    await gitInitIn([tree()])(tree(), user)
    expect(fs.existsSync(join(base, 'run'))).toBe(false)
    expect(fs.existsSync(tree('.git/config'))).toBe(true)
  })

  test('is found where PATH says, and only if it can be run', () => {
    plant(join(base, 'one'))
    plant(join(base, 'two'))
    fs.chmodSync(join(base, 'one/git'), 0o644)
    fs.mkdirSync(join(base, 'zero/git'), { recursive: true })
    process.env['PATH'] = ['zero', 'missing', 'one', 'two'].map((name) => join(base, name)).join(':')
    expect(findProgram('git')).toBe(join(base, 'two/git'))
  })

  test('that is missing is told', async () => {
    process.env['PATH'] = join(base, 'nowhere')
    await expect(gitInitIn([])(tree(), user)).rejects.toThrow(
      expect.objectContaining({ code: 'aw_command_failed', message: 'git is not installed' }),
    )
  })
})

test('a repository is made, with the name for its commits and nothing else', async () => {
  await gitInitIn([])(tree(), user)
  fs.writeFileSync(tree('file'), 'content')
  const git = (...args: string[]): string => execFileSync('git', ['-C', tree(), ...args], { encoding: 'utf8' })
  git('add', '.')
  git('commit', '-qm', 'first')
  expect(git('log', '--format=%an <%ae> %D')).toBe('A. Gent <a@gent.example> HEAD -> main\n')
  expect(git('config', '--local', '--list')).not.toContain('worktree')
  expect(fs.readdirSync(tree()).toSorted()).toEqual(['.git', 'file'])
  expect(fs.existsSync(tree('.git/hooks'))).toBe(false)
})

// Only root can make what belongs to somebody else.
test.each(process.getuid?.() === 0 ? [1234] : [])('a repository in a tree of uid %i belongs to it', async (uid) => {
  fs.chownSync(tree(), uid, uid + 1)
  await gitInitIn([])(tree(), user)
  const owners = fs
    .readdirSync(tree(), { recursive: true, encoding: 'utf8' })
    .map((name) => fs.lstatSync(tree(name)))
    .map((stat) => [stat.uid, stat.gid])
  expect(owners.length).toBeGreaterThan(5)
  expect(new Set(owners.map(String))).toEqual(new Set([`${uid},${uid + 1}`]))
  expect(fs.readFileSync(tree('.git/config'), 'utf8')).toContain('a@gent.example')
})
