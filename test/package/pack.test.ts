/** The package as users get it: packed, installed into an empty folder from its tarball, and used there. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inRoot, root } from '../../tools/root.ts'
import { oldNode } from './old-node.ts'

const folder = mkdtempSync(join(tmpdir(), 'aw-pack-'))
let tarball: string

/** Without its scripts, which would build dist/ anew under the other tests. */
beforeAll(() => {
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root, stdio: 'pipe' })
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? 'no tarball')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the tarball holds what is published and nothing else', () => {
  const names = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n')
  const tops = new Set(names.map((name) => name.split('/')[1]))
  expect(tops).toEqual(new Set(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json', 'prebuilt']))
  expect(names).toEqual(expect.arrayContaining(['package/dist/aw.cjs', 'package/dist/types/index.d.ts']))
  const modes = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' }).split('\n')
  expect(names).toContain('package/prebuilt/linux-arm64/aw-calls.node')
  for (const program of ['aw-box', 'aw-copy', 'aw-call', 'aw-calls.node'])
    expect(modes.find((line) => line.endsWith(`package/prebuilt/linux-x64/${program}`))).toMatch(/^-rwxr-xr-x /)
  expect(names.filter((name) => name.includes('.test.') || /dist\/types\/cli\//.test(name))).toEqual([])
})

test('packing builds first', () => {
  const { scripts } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')) as { scripts: Record<string, string> }
  expect(scripts['prepack']).toBe(scripts['build'])
})

describe('installed', () => {
  const app = join(folder, 'app')

  beforeAll(() => {
    mkdirSync(app)
    writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: app, stdio: 'pipe' })
  })

  const aw = (...args: readonly string[]): { code: number | null; stdout: string; stderr: string } => {
    const home = join(app, 'home')
    const { status, stdout, stderr } = spawnSync(join(app, 'node_modules/.bin/aw'), args, {
      cwd: app,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: app, AW_HOME: home },
    })
    return { code: status, stdout, stderr }
  }

  test('nothing else is installed with it', () => {
    expect(readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['agent-workspaces'])
  })

  test('aw --help and aw --version', () => {
    expect(aw('--help')).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('create') as string })
    expect(aw('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/\d+\.\d+\.\d+/) as string })
  })

  test('aw doctor works, and system calls by the addon of the package', () => {
    expect(aw('doctor')).toMatchObject({ code: 0, stdout: expect.stringContaining('openat2, by addon') as string })
  })

  test('where a daemon serves, a command needs no Node', () => {
    aw('create', 'served')
    const plain = aw('path', 'served')
    expect(aw('serve', '--detach').code).toBe(0)
    try {
      const env = { PATH: '/nowhere', HOME: app, AW_HOME: join(app, 'home') }
      const { status, stdout } = spawnSync(join(app, 'node_modules/.bin/aw'), ['path', 'served'], { env })
      expect([status, String(stdout)]).toEqual([0, plain.stdout])
    } finally {
      aw('serve', '--stop')
    }
  })

  test('a workspace comes and goes', () => {
    const created = aw('create', '--id', 'task/agent')
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\/[^\n]+\n$/) as string })
    const path = created.stdout.trim()
    writeFileSync(join(path, 'file.txt'), 'text')
    expect(aw('path', 'task/agent')).toMatchObject({ code: 0, stdout: `${path}\n` })
    expect(aw('destroy', 'task/agent')).toMatchObject({ code: 0 })
    expect(existsSync(path)).toBe(false)
  })

  test('the library has its values and its types', () => {
    writeFileSync(join(app, 'consumer.ts'), consumer)
    const tsc = [inRoot('node_modules/typescript/bin/tsc'), ...compilerFlags, 'consumer.ts']
    const typed = spawnSync(process.execPath, tsc, { cwd: app, encoding: 'utf8' })
    expect(typed).toMatchObject({ status: 0, stdout: '' })
    const ran = spawnSync(process.execPath, ['consumer.ts'], { cwd: app, encoding: 'utf8' })
    expect(ran).toMatchObject({ status: 0, stdout: 'disk_full 7\n' })
    const required = `console.log(typeof require('agent-workspaces').openAw, typeof require('agent-workspaces/client').connectAw)`
    const asked = spawnSync(process.execPath, ['--input-type=commonjs', '-e', required], { cwd: app, encoding: 'utf8' })
    expect(asked).toMatchObject({ status: 0, stdout: 'function function\n' })
  })

  test('without the addon, aw doctor works and says what is lost', () => {
    rmSync(join(app, 'node_modules/agent-workspaces/prebuilt/linux-x64/aw-calls.node'))
    const { code, stdout } = aw('doctor')
    expect(code).toBe(0)
    expect(stdout).not.toContain('openat2, by addon')
    expect(stdout).toContain('Install agent-workspaces again')
  })
})

/** With the Node that the tests run on, which the package is made for; of the user's own settings npm reads nothing. */
test('npm has nothing to say about installing it for all', () => {
  const prefix = join(folder, 'global')
  const env = { PATH: process.env['PATH'], HOME: folder, npm_config_userconfig: join(folder, 'no-npmrc') }
  const npm = (...args: readonly string[]) => spawnSync('npm', args, { cwd: folder, encoding: 'utf8', env })
  expect(Number(npm('--version').stdout.split('.')[0])).toBeGreaterThanOrEqual(11)
  const { status, stdout, stderr } = npm('install', '--global', '--prefix', prefix, '--no-update-notifier', tarball)
  expect({ status, stderr, lines: stdout.trim().split('\n') }).toEqual({
    status: 0,
    stderr: '',
    lines: [expect.stringMatching(/^added 1 package in /)],
  })
  const { status: ran, stderr: said } = spawnSync(join(prefix, 'bin/aw'), ['--version'], { encoding: 'utf8' })
  expect({ ran, said }).toEqual({ ran: 0, said: '' })
})

test('an old Node is told what is needed', () => {
  const { status, stdout, stderr } = spawnSync(oldNode(folder), [inRoot('dist/aw.cjs'), 'list'], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^aw needs Node 22\.18 or later, and this is Node \d+\.\d+\.\d+ \(.+\)\.\n.*Install.*\n$/)
})

test.each([
  ['index.js', 'openAw'],
  ['client.js', 'connectAw'],
])('the library tells an old Node the same: %s', (entry, name) => {
  const file = inRoot(`dist/${entry}`)
  const program = join(folder, `old-${name}.mjs`)
  writeFileSync(program, `import { ${name} } from ${JSON.stringify(file)}\n${name}()\n`)
  const { status, stdout, stderr } = spawnSync(oldNode(folder), [program], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(
    /agent-workspaces needs Node 22\.18 or later, and this is Node \d+\.\d+\.\d+ \(.+\)\. Install .*\n/,
  )
  expect(stderr).not.toContain('built-in module')
})

/** No skipLibCheck: the declarations that are published are checked too. */
const compilerFlags = (
  '--noEmit --strict --module nodenext --target es2024 --lib es2024,esnext.disposable ' +
  `--typeRoots ${inRoot('node_modules/@types')} --types node`
).split(' ')

const consumer = `import { AwError, type ErrorCode } from 'agent-workspaces'

const code: ErrorCode = 'disk_full'
const error: AwError = new AwError(code, 'No space')
console.log(error.code, error.exitCode)

// @ts-expect-error: there is no such code
const wrong: ErrorCode = 'no_such_code'
void wrong
`
