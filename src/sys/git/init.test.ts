import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { initRepository } from './init.ts'

let base: string
const user = { name: 'A. Gent', email: 'a@gent.example' }
const tree = (name = ''): string => join(base, 'tree', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-git-'))
  fs.mkdirSync(tree())
})
afterEach(() => {
  fs.rmSync(base, { recursive: true, force: true })
})

test('is what git itself makes', () => {
  fs.mkdirSync(tree('ours'))
  fs.mkdirSync(tree('theirs'))
  const odd = { name: 'Ä "quoted" \\ one\nand # two ', email: 'a@gent.example' }
  initRepository(tree('ours'), odd)
  const git = (...args: string[]): string => execFileSync('git', ['-C', tree('theirs'), ...args], { encoding: 'utf8' })
  git('init', '--quiet', '--template=', '--initial-branch=main')
  git('config', 'user.name', odd.name)
  git('config', 'user.email', odd.email)
  const told = (name: string): string[] => [
    ...fs.readdirSync(tree(`${name}/.git`), { recursive: true, encoding: 'utf8' }).toSorted(),
    fs.readFileSync(tree(`${name}/.git/HEAD`), 'utf8'),
    execFileSync('git', ['config', '--file', tree(`${name}/.git/config`), '--list', '-z'], { encoding: 'utf8' }),
  ]
  expect(told('ours')).toEqual(told('theirs'))
})

test('a repository is made, with the name for its commits and nothing else', () => {
  initRepository(tree(), user)
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
test.each(process.getuid?.() === 0 ? [1234] : [])('a repository in a tree of uid %i belongs to it', (uid) => {
  fs.chownSync(tree(), uid, uid + 1)
  initRepository(tree(), user)
  const owners = fs
    .readdirSync(tree(), { recursive: true, encoding: 'utf8' })
    .map((name) => fs.lstatSync(tree(name)))
    .map((stat) => [stat.uid, stat.gid])
  expect(owners.length).toBeGreaterThan(5)
  expect(new Set(owners.map(String))).toEqual(new Set([`${uid},${uid + 1}`]))
  expect(fs.readFileSync(tree('.git/config'), 'utf8')).toContain('a@gent.example')
})
