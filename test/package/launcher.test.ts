/** The launcher runs compiled code that it keeps from the last time: only if it is this user's, and whole. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linkLazily, programFile } from '../../tools/lazy-link.ts'
import { inRoot } from '../../tools/root.ts'
import { place, type Place } from '../cli/built-command.ts'

let here: Place
beforeEach(() => {
  here = place()
  delete here.env['XDG_CACHE_HOME']
})
afterEach(() => here[Symbol.dispose]())

const folder = (): string => join(here.folder, '.cache/aw/compiled')
const keptFor = (word: string): string =>
  join(folder(), readdirSync(folder()).find((name) => name.endsWith(`-${word}`)) ?? 'none')
const runs = (): void => expect(here.aw('--version')).toMatchObject({ code: 0, stderr: '' })

test('it is kept for its user alone, and used', () => {
  // The first run keeps what it used, the second what of it is compiled.
  runs()
  runs()
  const kept = keptFor('other')
  const modes = [folder(), kept].map((path) => statSync(path).mode & 0o777)
  expect(modes).toEqual([0o700, 0o600])
  const { ino } = statSync(kept)
  runs()
  expect(statSync(kept).ino).toBe(ino)
})

test('each command keeps its own, wherever it stands on the line, and also if it fails', () => {
  expect(here.aw('list')).toMatchObject({ code: 0 })
  expect(here.aw('--home', here.home, '--json', 'list')).toMatchObject({ code: 0 })
  expect(here.aw('show', 'nobody').code).not.toBe(0)
  expect(here.aw('lsit').code).not.toBe(0)
  expect(readdirSync(folder()).map((name) => name.split('-').at(-1))).toEqual(['list', 'other', 'show'])
})

test('what another version kept is forgotten after a week, when something new is kept', () => {
  runs()
  runs()
  const now = Date.now() / 1000
  const week = 7 * 24 * 3600
  for (const [name, age] of [
    ['cli-OLDER123-v24-x64-list', week + 60],
    ['cli-RECENT12-v24-x64-list', week - 60],
    ['notes', week + 60],
  ] as const) {
    writeFileSync(join(folder(), name), '')
    utimesSync(join(folder(), name), now - age, now - age)
  }
  runs()
  expect(readdirSync(folder())).toContain('cli-OLDER123-v24-x64-list')
  expect(here.aw('list').code).toBe(0)
  const left = readdirSync(folder())
  expect(left).toEqual(expect.arrayContaining(['cli-RECENT12-v24-x64-list', 'notes']))
  expect(left).not.toContain('cli-OLDER123-v24-x64-list')
  expect(left).toHaveLength(4)
})

test.each([
  ['others can write it', (file: string) => chmodSync(file, 0o666)],
  ['a byte is wrong', (file: string) => damage(file, (bytes) => bytes.fill(~(bytes[5000] ?? 0), 5000, 5001))],
  ['it is half there', (file: string) => damage(file, (bytes) => bytes.subarray(0, bytes.length / 4))],
  ['it is empty', (file: string) => damage(file, () => Buffer.alloc(0))],
  ['it is of another program', (file: string) => copyFileSync('/bin/true', file)],
])('where %s it is made anew', (_, spoil) => {
  runs()
  const kept = keptFor('other')
  const { ino } = statSync(kept)
  spoil(kept)
  runs()
  expect(statSync(kept)).toMatchObject({ mode: 0o100600 })
  expect(statSync(kept).ino).not.toBe(ino)
})

const damage = (file: string, change: (bytes: Buffer) => Uint8Array): void =>
  writeFileSync(file, change(readFileSync(file)))

test('where nothing can be kept the command runs all the same', () => {
  writeFileSync(join(here.folder, '.cache'), 'in the way')
  runs()
  delete here.env['HOME']
  runs()
  expect(existsSync(folder())).toBe(false)
})

/** A program of our own behind the launcher. */
async function launched(main: string, more: string): Promise<void> {
  mkdirSync(join(here.folder, 'src'))
  writeFileSync(join(here.folder, 'src/main.ts'), main)
  writeFileSync(join(here.folder, 'src/more.ts'), more)
  const linked = await linkLazily('src/main.ts', { absWorkingDir: here.folder, bundle: true, platform: 'node' })
  writeFileSync(join(here.folder, 'cli-A.cjs'), programFile(linked))
  const source = readFileSync(inRoot('tools/launcher.cjs'), 'utf8')
  writeFileSync(join(here.folder, 'aw.cjs'), source.replace('PROGRAM', 'cli-A.cjs').replace('WORDS', 'word'))
}

test('once the modules of a command are kept, the program itself is not needed; what is used later is kept too', async () => {
  await launched(
    `import { say } from './more.ts'
    if (process.argv[3] === 'more') say()
    else console.log('little')`,
    `export const say = () => console.log('more')`,
  )
  const says = (text: string, ...args: string[]): void =>
    expect(here.sh(`node aw.cjs ${args.join(' ')}`)).toEqual({ code: 0, stdout: `${text}\n`, stderr: '' })
  const file = join(here.folder, 'cli-A.cjs')
  says('little', 'word')
  renameSync(file, `${file}.away`)
  says('little', 'word')
  expect(here.sh('node aw.cjs word more').stderr).toContain('cli-A.cjs')
  renameSync(`${file}.away`, file)
  says('more', 'word', 'more')
  renameSync(file, `${file}.away`)
  for (let run = 0; run < 3; run++) {
    says('more', 'word', 'more')
    says('little', 'word')
  }
})

test('what runs for long has its program, though another version takes its place', async () => {
  // It removes the program as soon as that was read, and uses what it did not use before.
  await launched(
    `import * as fs from 'node:fs'
    import { say } from './more.ts'
    if (process.env['LONG'] !== undefined) {
      const { readFileSync } = fs
      const waiting = setInterval(() => undefined, 1000)
      process.getBuiltinModule('fs').readFileSync = ((...given: Parameters<typeof readFileSync>) => {
        setImmediate(() => (fs.unlinkSync(given[0] as string), clearInterval(waiting), say()))
        return readFileSync(...given)
      }) as typeof readFileSync
    }`,
    `export const say = () => console.log('it is there')`,
  )
  expect(here.sh('node aw.cjs && LONG=1 node aw.cjs')).toEqual({ code: 0, stdout: 'it is there\n', stderr: '' })
})

test('what runs for long goes on without its program as long as it needs nothing of it', async () => {
  await launched(
    `if (process.env['LONG'] !== undefined) setTimeout(() => console.log('done'), 700)`,
    `export const unused = 1`,
  )
  expect(here.sh('node aw.cjs && rm cli-A.cjs && LONG=1 node aw.cjs')).toEqual({
    code: 0,
    stdout: 'done\n',
    stderr: '',
  })
})

test('the warning of Node 22 about its SQLite is silenced, and no other', () => {
  const preload = join(here.folder, 'warn.cjs')
  writeFileSync(
    preload,
    `process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning')
    process.emitWarning('Other is an experimental feature', 'ExperimentalWarning')
    process.emitWarning('SQLite is old', 'DeprecationWarning')`,
  )
  here.env['NODE_OPTIONS'] = `--require=${preload}`
  const { code, stderr } = here.aw('list', '--json')
  expect(code).toBe(0)
  const warnings = stderr.match(/\w+Warning: .*/g)
  expect(warnings).toEqual([
    'ExperimentalWarning: Other is an experimental feature',
    'DeprecationWarning: SQLite is old',
  ])
})
