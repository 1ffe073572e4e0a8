/** The command starts fast because it loads little: what only some commands need is loaded by them. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inRoot } from '../tools/root.ts'
import { launcher, place, type Place } from './cli/built.ts'

let here: Place
beforeAll(() => {
  here = place()
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

/** Those that take a millisecond or more, by the names that Node and koffi give them. */
const heavy = (loaded: readonly string[]): string[] => {
  const found = ['crypto', 'child_process', 'tty', 'net', 'stream', 'perf_hooks', 'internal/fs/promises', 'zlib']
    .filter((name) => loaded.includes(`NativeModule ${name}`))
    .toSorted()
  return loaded.some((name) => name.endsWith('/koffi.node')) ? [...found, 'koffi'] : found
}

/** Which of the command's own files were read, by their place in the list of the build. */
const parts = (loaded: readonly string[]): number[] =>
  loaded.flatMap((name) => /\/cli-\w+-(\d)\.cjs$/.exec(name)?.[1] ?? []).map(Number)

test.each([
  [['--help'], []],
  [['--version'], []],
  [['path', 'task/agent'], []],
  [['list'], []],
  [['show', 'task/agent'], []],
  [['fs', 'list', 'task/agent', 'work'], []],
  // The hash chain and the ids of events need crypto, which brings streams.
  [
    ['create', 'task/other'],
    ['crypto', 'stream'],
  ],
  [
    ['destroy', 'task/other'],
    ['crypto', 'stream'],
  ],
])('aw %j loads %j of what is heavy', (args, expected) => {
  expect(heavy(loadedBy(...args))).toEqual(expected)
})

const first = 0
const core = 1
const dir = 2
const sandbox = 3

test.each([
  [['--version'], [first]],
  [
    ['path', 'task/agent'],
    [first, core, dir],
  ],
  [['list'], [first, core, dir]],
  [
    ['create', 'task/third'],
    [first, core, dir],
  ],
  [
    ['snapshot', 'task/third'],
    [first, core, dir],
  ],
  [
    ['restore', 'task/third'],
    [first, core, dir],
  ],
  [
    ['fork', 'task/third', 'task/fourth'],
    [first, core, dir],
  ],
  [
    ['exec', 'task/third', '--', 'true'],
    [first, core, dir, sandbox],
  ],
  [
    ['destroy', 'task/third'],
    [first, core, dir],
  ],
])('aw %j reads the files %j of the command', (args, expected) => {
  expect(new Set(parts(loadedBy(...args)))).toEqual(new Set(expected))
})

test('through a daemon it reads one file, and loads what a connection needs and no stream besides', () => {
  expect(here.aw('serve', '--detach')).toMatchObject({ code: 0 })
  try {
    const loaded = loadedBy('path', 'task/agent')
    expect(parts(loaded)).toEqual([first])
    expect(heavy(loaded)).toEqual(['net', 'stream'])
    expect(loaded).not.toContain('NativeModule internal/fs/sync_write_stream')
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
  const loaded = told()
  expect(heavy(loaded)).toEqual([])
  expect(new Set(parts(loaded))).toEqual(new Set([first, core, dir]))
})

test('what is heavy would be noticed', () => {
  expect(heavy(loadedBy('doctor'))).toContain('koffi')
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
