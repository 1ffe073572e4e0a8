/** The command starts fast because it loads little: what only some commands need is loaded by them. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inRoot } from '../../tools/root.ts'
import { launcher, place, type Place } from '../cli/built-command.ts'

let here: Place
beforeAll(() => {
  here = place()
  here.env['XDG_CACHE_HOME'] = join(here.folder, 'cache')
  here.aw('create', 'task/agent')
  writeFileSync(join(here.folder, 'watch.cjs'), watch)
})
afterAll(() => here[Symbol.dispose]())

/** Says at the end which modules of Node's and which files were loaded. */
const watch = `const fs = require('fs')
const { readFileSync } = fs
const read = []
fs.readFileSync = (...given) => (read.push(String(given[0])), readFileSync(...given))
process.on('exit', () => fs.writeFileSync('loaded.json',
  JSON.stringify([...process.moduleLoadList, ...Object.keys(require.cache), ...read])))`

function loadedBy(...args: readonly string[]): string[] {
  const watched = ['--require', join(here.folder, 'watch.cjs'), launcher, ...args]
  const ran = spawnSync(process.execPath, watched, { cwd: here.folder, env: here.env, encoding: 'utf8' })
  expect(ran).toMatchObject({ status: 0, stderr: '' })
  return told()
}

const told = (): string[] => JSON.parse(readFileSync(join(here.folder, 'loaded.json'), 'utf8')) as string[]

/** Those that take a millisecond or more, by the names that Node gives them. */
const heavy = (loaded: readonly string[]): string[] => {
  return ['crypto', 'child_process', 'tty', 'net', 'stream', 'perf_hooks', 'internal/fs/promises', 'zlib']
    .filter((name) => loaded.includes(`NativeModule ${name}`))
    .toSorted()
}

/** The names of the modules that are kept for a command, of which each has run. */
function keptFor(word: string, way = 'alone'): string[] {
  const folder = join(here.folder, 'cache/aw/compiled')
  const file = readdirSync(folder).find((name) => name.endsWith(`-${way}-${word}`)) ?? 'none'
  const { numbers } = headOf(join(folder, file)) as { numbers: number[] }
  const program = readdirSync(dirname(launcher)).find((name) => /^cli-\w+\.cjs$/.test(name)) ?? 'none'
  const { modules } = headOf(join(dirname(launcher), program)) as { modules: [string, number][] }
  return numbers.map((number) => modules[number]?.[0] ?? 'unknown')
}

const headOf = (file: string): unknown => JSON.parse(readFileSync(file, 'latin1').split('\n', 1)[0] ?? '')

test.each([
  [['--help'], []],
  [['--version'], []],
  [['path', 'task/agent'], []],
  [['list'], []],
  [['show', 'task/agent'], []],
  [['fs', 'list', 'task/agent', 'work'], []],
  [['fs', 'write', 'task/agent', 'work/new', '--content', 'x'], []],
  [['create', 'task/other'], []],
  [['destroy', 'task/other'], []],
  // Here a snapshot knows the content of its files by hashes.
  [
    ['snapshot', 'task/agent'],
    ['crypto', 'stream'],
  ],
  [
    ['exec', 'task/agent', '--', 'true'],
    ['child_process', 'crypto', 'net', 'stream'],
  ],
])('aw %j loads %j of what is heavy', (args, expected) => {
  expect(heavy(loadedBy(...args))).toEqual(expected)
})

/** It may be more when a command does more, but not because something comes along unused. */
test.each([
  ['path', ['task/agent'], 95],
  ['list', [], 105],
  ['create', ['task/third'], 145],
  ['snapshot', ['task/third'], 155],
  ['restore', ['task/third'], 180],
  ['fork', ['task/third', 'task/fourth'], 180],
  ['exec', ['task/third', '--', 'true'], 200],
  ['destroy', ['task/fourth'], 130],
])('aw %s %j runs few of our modules', (word, args, most) => {
  rmSync(join(here.folder, 'cache'), { recursive: true, force: true })
  loadedBy(word, ...args)
  const modules = keptFor(word)
  expect(modules.length).toBeGreaterThan(50)
  expect(modules.length).toBeLessThan(most)
  expect(modules.filter((name) => name.startsWith('src/client/remote/'))).toEqual([])
})

test('what ran before reads nothing of the program', () => {
  rmSync(join(here.folder, 'cache'), { recursive: true, force: true })
  const reads = [1, 2, 3].map(() => loadedBy('path', 'task/agent').some((name) => /\/cli-\w+\.cjs$/.test(name)))
  expect(reads).toEqual([true, false, false])
})

test('through a daemon it does without the core, and loads what a connection needs and no stream besides', () => {
  expect(here.aw('serve', '--detach')).toMatchObject({ code: 0 })
  try {
    const loaded = loadedBy('path', 'task/agent')
    expect(heavy(loaded)).toEqual(['net', 'stream'])
    expect(loaded).not.toContain('NativeModule internal/fs/sync_write_stream')
    expect(keptFor('path', 'served').filter((name) => /^src\/(aw\.ts|manager|drivers|sys)/.test(name))).toEqual([])
    expect(keptFor('path', 'served').length).toBeLessThan(50)
  } finally {
    expect(here.aw('serve', '--stop')).toMatchObject({ code: 0 })
  }
})

test('on a terminal, a path needs nothing that Node has for terminals', () => {
  here.env['NODE_OPTIONS'] = `--require=${join(here.folder, 'watch.cjs')}`
  try {
    expect(here.onTerminal([], 'path', 'task/agent')).toMatchObject({ exit: 0 })
  } finally {
    delete here.env['NODE_OPTIONS']
  }
  expect(heavy(told())).toEqual([])
})

test('what is heavy would be noticed', () => {
  expect(heavy(loadedBy('doctor'))).toContain('child_process')
})

/** A file of the package, and all that it imports before its first line. */
function loadedFirst(file: string, seen = new Map<string, string>()): Map<string, string> {
  if (seen.has(file)) return seen
  const text = readFileSync(file, 'utf8')
  seen.set(file, text)
  for (const [, path = ''] of text.matchAll(/^(?:import|export)\b[^;]*?"(\.[^"]+)";$/gm))
    loadedFirst(join(file, '..', path), seen)
  return seen
}

test('the library loads the optional part only when it is needed', () => {
  const texts = [...loadedFirst(inRoot('dist/index.js')).values()]
  expect(texts.length).toBeGreaterThan(1)
  expect(texts.join('\n')).toContain('"node:fs"')
  for (const text of texts) expect(text).not.toMatch(/^import\b[^;]*["']koffi["']/m)
})
