/** A fresh checkout on a machine with an old Node: what npm start and npm test do before anything else. */
import { execFileSync, spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inRoot } from '../../tools/root.ts'
import { oldNode } from './old-node.ts'

const folder = mkdtempSync(join(tmpdir(), 'aw-setup-'))
const checkout = join(folder, 'checkout')
const node = oldNode(folder)

beforeAll(() => {
  chmodSync(folder, 0o755)
  for (const path of ['package.json', 'package-lock.json', '.npmrc', 'tools']) {
    cpSync(inRoot(path), join(checkout, path), { recursive: true })
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const setup = (args: readonly string[], options: { path?: string; uid?: number } = {}): SpawnSyncReturns<string> =>
  spawnSync(node, ['tools/setup.mjs', ...args], {
    cwd: checkout,
    encoding: 'utf8',
    env: { ...process.env, PATH: options.path ?? `${dirname(node)}:${process.env['PATH']}` },
    uid: options.uid,
  })

test('the first run installs, says so, and goes on with the pinned Node', () => {
  const { stdout, stderr } = setup(['run', '-p', 'process.version'])
  expect({ stdout, stderr }).toEqual({
    stdout: `${process.version}\n`,
    stderr: 'Installing the npm packages of this checkout (npm ci) …\n',
  })
})

test('the second run has nothing to do, needs no registry and says nothing', () => {
  const { stdout, stderr } = setup(['run', '-p', 'process.version'], { path: '/nowhere' })
  expect({ stdout, stderr }).toEqual({ stdout: `${process.version}\n`, stderr: '' })
})

test('administration programs are found though PATH lacks their folders, as after a plain su', () => {
  const pathOf = (path: string): string[] => setup(['run', '-p', 'process.env.PATH'], { path }).stdout.trim().split(':')
  const own = join(checkout, 'node_modules/.bin')
  expect(pathOf('/usr/bin:/bin')).toEqual([own, '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'])
  expect(pathOf('/sbin:/usr/sbin:/bin')).toEqual([own, '/sbin', '/usr/sbin', '/bin', '/usr/local/sbin'])
})

test('another lock file is noticed', () => {
  const lock = execFileSync('sed', ['s/"version": "24.[0-9.]*"/"version": "0.0.0"/', 'package-lock.json'], {
    cwd: checkout,
  })
  writeFileSync(join(checkout, 'package-lock.json'), lock)
  const { status, stderr } = setup(['run', '-p', '1'], { path: '/nowhere' })
  cpSync(inRoot('package-lock.json'), join(checkout, 'package-lock.json'))
  expect(status).toBe(1)
  expect(stderr).toMatch(/^Installing the npm packages.*\nnpm cannot be started: /)
})

test('a build without its sources says what is missing', () => {
  const { status, stdout, stderr } = setup(['run', 'tools/build.ts'])
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: 'Nothing to build: src/cli/main.ts is missing\n',
  })
})

test('exit codes pass through', () => {
  expect(setup(['run', '-e', 'process.exit(7)'])).toMatchObject({ status: 7 })
  expect(setup(['run', '-e', `process.kill(process.pid, 'SIGKILL')`])).toMatchObject({ status: 128 + 9 })
  expect(setup(['sing'])).toMatchObject({ status: 1, stderr: expect.stringContaining('usage:') as string })
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the command in its own way', async (signal) => {
  const script = `process.once('${signal}', () => process.exit(5)); setInterval(() => {}, 1000); console.log('ready')`
  const child = spawn(node, ['tools/setup.mjs', 'run', '-e', script], {
    cwd: checkout,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.stdout.once('data', () => process.kill(signal === 'SIGINT' ? -Number(child.pid) : Number(child.pid), signal))
  expect(await ended).toBe(5)
})

describe('Debian packages that are missing', () => {
  const bin = join(folder, 'bin')

  beforeAll(() => {
    mkdirSync(bin)
    symlinkSync('/bin/true', join(bin, 'apt-get'))
    const wanted = [{ package: 'no-such-package', command: 'no-such-command', why: 'example' }]
    writeFileSync(join(checkout, 'tools/debian-packages.json'), JSON.stringify(wanted))
    writeFileSync(join(checkout, 'tools/test.ts'), `console.log('the tests')`)
  })

  test('are installed by root, with a word about it', () => {
    const { status, stdout, stderr } = setup(['test'], { path: bin })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'the tests\n' })
    expect(stderr).toMatch(
      /^Installing Debian packages that the tests and benchmarks use \(apt-get\): no-such-package \(example\)/,
    )
  })

  test('are installed for the benchmarks too', () => {
    mkdirSync(join(checkout, 'bench'))
    writeFileSync(join(checkout, 'bench/main.ts'), `console.log('the benchmarks')`)
    const { status, stdout, stderr } = setup(['bench'], { path: bin })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'the benchmarks\n' })
    expect(stderr).toContain('no-such-package (example)')
  })

  test('are named with the exact command to everyone else', () => {
    const { status, stdout, stderr } = setup(['test'], { path: bin, uid: 65_534 })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(
      '  sudo apt-get update && sudo apt-get install -y --no-install-recommends no-such-package\n',
    )
  })

  test('are named where there is no apt', () => {
    const { status, stdout, stderr } = setup(['test'], { path: '/nowhere' })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('not installed: no-such-command.')
  })
})

describe('npm start on a machine without bubblewrap', () => {
  const bin = join(folder, 'managers')
  const asked = join(folder, 'asked')
  const manager = (exit: number): void =>
    writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\necho "$*" >> ${asked}\nexit ${exit}\n`, { mode: 0o755 })

  beforeAll(() => {
    mkdirSync(bin)
    mkdirSync(join(checkout, 'src/cli'), { recursive: true })
    writeFileSync(join(checkout, 'src/cli/main.ts'), `console.log('serving')`)
  })

  test('root gets it from the package manager, and is told', () => {
    manager(0)
    const { status, stdout, stderr } = setup(['start'], { path: bin })
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'serving\n',
      stderr: 'Installing bubblewrap, which sandboxes need (apt-get) …\n',
    })
    expect(readFileSync(asked, 'utf8')).toBe('install -y --no-install-recommends bubblewrap\n')
  })

  test('it serves all the same if that fails', () => {
    manager(100)
    const { status, stdout, stderr } = setup(['start'], { path: bin })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'serving\n' })
    expect(stderr).toContain('That failed; to see why, run: apt-get install -y --no-install-recommends bubblewrap\n')
  })

  test.each([
    ['an ordinary user', { path: bin, uid: 65_534 }],
    ['root without a package manager', { path: '/nowhere' }],
  ])('nothing is installed for %s', (_, options) => {
    expect(setup(['start'], options)).toMatchObject({ status: 0, stdout: 'serving\n', stderr: '' })
  })
})
