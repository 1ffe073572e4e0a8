import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isDotGitName } from './names.ts'

const bytes = (text: string): string => Buffer.from(text).toString('latin1')

const refused =
  '.git .GIT .Git git~1 GIT~1 .git... .git::$INDEX_ALLOCATION .git:x .g\u200cit \ufeff.git .gi\u206at .git\\x a\\.git'
const taken = 'git .gitignore .gitmodules .gi git~2 .git~1 x.git .git- .gitx \xff.git'
const names = [...refused.split(' '), ...taken.split(' '), '.git ', '.git. .', '.git \\x', ' .git']

it('is what git itself refuses in a tree', () => {
  const repository = fs.mkdtempSync(join(tmpdir(), 'aw-names-'))
  onTestFinished(() => fs.rmSync(repository, { recursive: true }))
  const env = { PATH: process.env['PATH'], GIT_DIR: repository, HOME: '/nonexistent' }
  const settings = ['-c', 'core.protectNTFS=true', '-c', 'core.protectHFS=true']
  const git = (args: string[], input = ''): string =>
    execFileSync('git', [...settings, ...args], { env, input, encoding: 'utf8', stdio: 'pipe' }).trim()
  git(['init', '--quiet', '--bare', repository])
  const blob = git(['hash-object', '-w', '--stdin'])
  const isRefused = (name: string): boolean => {
    const args = ['update-index', '--add', '--cacheinfo', `100644,${blob},${name}`]
    try {
      git(args)
      return false
    } catch {
      return true
    }
  }
  for (const name of names) expect([name, isDotGitName(bytes(name))]).toEqual([name, isRefused(name)])
  expect(refused.split(' ').filter((name) => !isDotGitName(bytes(name)))).toEqual([])
})
