/** A check that cannot fail checks nothing: each one meets a small sound project, then the same with a defect. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCheck, type CheckName } from '../../tools/checks.ts'
import { inRoot } from '../../tools/root.ts'

const configuration = [
  '.oxfmtrc.json',
  '.oxlintrc.json',
  'knip.json',
  'tsconfig.json',
  'vitest.config.ts',
  'tools/node',
]

const manifest = { name: 'sound', version: '1.0.0', type: 'module' }

const sound = {
  'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  'src/index.ts': `export { greeting } from './domain/greeting.ts'\n`,
  'src/cli/main.ts': `import { greeting } from '../domain/greeting.ts'\n\nconsole.log(greeting('you'))\n`,
  'src/domain/greeting.ts': 'export const greeting = (name: string): string => `Hello ${name}`\n',
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aw-checks-'))
  await copyFromRoot(configuration)
  await symlink(inRoot('node_modules'), join(folder, 'node_modules'))
  await writeFiles(sound)
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test.each<[CheckName, string, string, string, string]>([
  ['format', 'a semicolon', 'src/index.ts', `export { greeting } from './domain/greeting.ts';\n`, 'src/index.ts'],
  [
    'lint',
    'a floating promise, which takes types to see',
    'src/cli/main.ts',
    `import { greeting } from '../domain/greeting.ts'\n\nPromise.resolve(greeting('you'))\n`,
    'no-floating-promises',
  ],
  ['types', 'a string for a number', 'src/index.ts', `export const one: number = 'one'\n`, 'TS2322'],
  ['dead code', 'a file that nobody imports', 'src/domain/dead.ts', 'export const dead = 1\n', 'src/domain/dead.ts'],
  [
    'dead code',
    'an export that nobody uses',
    'src/domain/greeting.ts',
    `${sound['src/domain/greeting.ts']}export const dead = 1\n`,
    'dead',
  ],
])('%s finds %s', async (check, _what, path, text, says) => {
  expect(await runCheck(check, folder)).toMatchObject({ passed: true })
  await writeFiles({ [path]: text })
  const result = await runCheck(check, folder)
  expect(result.passed).toBe(false)
  expect(result.output).toContain(says)
})

test('dead code finds a dependency that nobody uses', async () => {
  await writeFiles({ 'package.json': JSON.stringify({ ...manifest, dependencies: { 'smol-toml': '1.9.1' } }) })
  const result = await runCheck('dead code', folder)
  expect(result.passed).toBe(false)
  expect(result.output).toContain('smol-toml')
})

test('rules finds an import across the layers', async () => {
  await copyFromRoot(['src', 'test/rules', 'package-lock.json'])
  await writeFiles({ 'src/domain/planted.ts': `import { readFileSync } from 'node:fs'\n\nreadFileSync('a')\n` })
  const result = await runCheck('rules', folder)
  expect(result.passed).toBe(false)
  expect(result.output).toContain('src/domain/planted.ts:1: domain may not import node:fs')
})

const copyFromRoot = (paths: readonly string[]): Promise<unknown> =>
  Promise.all(paths.map((path) => cp(inRoot(path), join(folder, path), { recursive: true })))

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}
