import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { letGo } from '../storage/unmount-below.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { toAwError } from '../../src/domain/errors.ts'
import { openAw, type Aw } from '../../src/index.ts'

const driver = process.env['AW_TEST_DRIVER'] ?? 'dir'
/** Where a workspace begins as a base in constant time. */
export const hasBases = driver !== 'dir'

export interface Ground {
  readonly aw: Aw
  readonly home: string
  /** A directory for what the test makes. */
  readonly base: string
}

/** @param at a home that is there already */
export async function openGround(set: Readonly<Record<string, string>> = {}, at?: string): Promise<Ground> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-sources-'))
  const home = at ?? join(base, 'home')
  const aw = await openAw({ home, set: { 'storage.driver': driver, ...set } })
  onTestFinished(async () => {
    await aw[Symbol.asyncDispose]()
    await endBoxes(home)
    letGo(base, ['--lazy'])
    // What a test has locked, an ordinary user has to open again.
    execFileSync('chmod', ['-R', 'u+rwX', base])
    fs.rmSync(base, { recursive: true, force: true })
  })
  return { aw, home, base }
}

export function git(cwd: string, ...args: string[]): string {
  const settings = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main']
  // What root made belongs to another user.
  const safe = ['-c', 'safe.directory=*']
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
  return execFileSync('git', [...settings, ...safe, ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Two commits on main, a branch, a tag. */
export function makeRepository({ base }: { base: string }, name = 'repository'): string {
  const folder = join(base, name)
  fs.mkdirSync(join(folder, 'src'), { recursive: true })
  git(folder, 'init', '--quiet')
  commit(folder, 'README', 'one\n')
  git(folder, 'tag', 'v1')
  commit(folder, 'src/main.ts', 'export {}\n')
  git(folder, 'branch', 'other', 'v1')
  return folder
}

export function commit(folder: string, path: string, text: string): string {
  fs.writeFileSync(join(folder, path), text)
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--message', `${path} is ${text.trim()}`)
  return git(folder, 'rev-parse', 'HEAD')
}

export const contentOf = ({ path }: { path: string }, name: string): string =>
  fs.readFileSync(join(path, 'work', name), 'utf8')

export const namesIn = ({ path }: { path: string }, name = ''): string[] =>
  fs.readdirSync(join(path, 'work', name)).toSorted()

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: unknown) => toAwError(error).code,
  )
