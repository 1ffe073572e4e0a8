import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { scanWithHelper } from './scan-helper.ts'
import { statEntry } from './stat.ts'
import { walkTree } from './walk.ts'

let base: string
let top: number
const at = (name = ''): string => join(base, 'tree', name)
const isRoot = process.getuid?.() === 0

beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-look-'))
  fs.mkdirSync(at())
  top = fs.openSync(at(), 'r')
})
afterEach(() => {
  fs.closeSync(top)
  fs.rmSync(base, { recursive: true, force: true })
})

function put(name: string, text = name): void {
  fs.mkdirSync(join(at(name), '..'), { recursive: true })
  fs.writeFileSync(at(name), text)
}

interface Told {
  readonly prints: Map<string, string>
  readonly isUnchanged: boolean | undefined
}

async function told(exclude: string[] = [], meanwhile = (): void => undefined): Promise<Told | undefined> {
  const prints = new Map<string, string>()
  await using stat = await scanWithHelper(top, {
    exclude,
    onTop: (print) => prints.set('.', print),
    onDirectory: (path, names, found) =>
      names.forEach((name, index) => prints.set(path === '' ? name : `${path}/${name}`, found[index] ?? '')),
  })
  if (stat === undefined) return undefined
  meanwhile()
  return { prints, isUnchanged: await stat.isUnchanged() }
}

function walked(exclude: string[] = []): Map<string, string> {
  const prints = new Map([['.', statEntry(top, '')?.print ?? '']])
  for (const { path, print } of walkTree(top, { exclude })) prints.set(path, print)
  return prints
}

const inOrder = (prints: Map<string, string>): [string, string][] =>
  [...prints].sort(([one], [other]) => (one < other ? -1 : 1))

test('it tells what a walk tells, whatever is there', async () => {
  for (let i = 0; i < 300; i++) put(`many/${i % 17}/${i}`)
  put('a')
  put('a-b')
  put('deep/' + 'x/'.repeat(200) + 'file')
  put('long/' + 'n'.repeat(255))
  put('excluded/file')
  put('many/excluded/file')
  fs.mkdirSync(at('empty'))
  fs.symlinkSync('nowhere', at('dangling'))
  fs.symlinkSync('many', at('link-to-directory'))
  fs.linkSync(at('a'), at('many/twin'))
  fs.writeFileSync(Buffer.concat([Buffer.from(at('odd-')), Buffer.from([0xff, 0x0a, 0x80])]), 'x')
  execFileSync('mkfifo', [at('pipe')])
  const found = await told(['excluded'])
  expect(inOrder(found?.prints ?? new Map<string, string>())).toEqual(inOrder(walked(['excluded'])))
  expect(found?.prints.has('many/excluded/file')).toBe(true)
  expect(found?.prints.has('excluded')).toBe(false)
  expect(found?.isUnchanged).toBe(true)
})

test('of an empty tree', async () => {
  expect([...((await told())?.prints.keys() ?? [])]).toEqual(['.'])
})

test.each<[string, () => void]>([
  ['a file is written to', () => fs.appendFileSync(at('a/b/c'), 'more')],
  ['one comes', () => put('a/b/new')],
  ['one comes at the top', () => put('new')],
  ['one goes', () => fs.unlinkSync(at('a/b/c'))],
  ['one gets another name', () => fs.renameSync(at('a/b/c'), at('a/b/d'))],
  ['a mode changes', () => fs.chmodSync(at('a/b'), 0o700)],
  ['the mode of the top changes', () => fs.chmodSync(at(), 0o700)],
  ['a directory is exchanged for another', () => (fs.renameSync(at('a'), at('z')), fs.mkdirSync(at('a')))],
  ['a directory is exchanged for a link', () => (fs.renameSync(at('a'), at('z')), fs.symlinkSync('z', at('a')))],
])('it is seen that %s between two looks', async (_, change) => {
  put('a/b/c')
  put('e')
  expect(await told([], change)).toMatchObject({ isUnchanged: false })
})

test('where a path is too long it is left to who walks', async () => {
  put('x')
  execFileSync('python3', [
    '-c',
    'import os, sys\nos.chdir(sys.argv[1])\nfor i in range(30): os.mkdir("d" * 200); os.chdir("d" * 200)',
    at(),
  ])
  expect(await told()).toBeUndefined()
  expect(walked().size).toBe(32)
})

test('what is mounted there is left out, with what it covers', () => {
  put('mounted/covered')
  put('other')
  const script = `
    import * as fs from 'node:fs'
    import { scanWithHelper } from ${JSON.stringify(join(import.meta.dirname, 'scan-helper.ts'))}
    const seen = []
    const onDirectory = (path, names) => seen.push(...names.map((name) => path + '/' + name))
    const top = fs.openSync(process.argv[1], 'r')
    await using looked = await scanWithHelper(top, { onTop: () => seen.push('.'), onDirectory })
    console.log(JSON.stringify(seen.sort()))`
  const node = [process.execPath, '--input-type=module-typescript', '-e', script, at()]
  const mounting = 'mount -t tmpfs none "$1/mounted" && echo x > "$1/mounted/file" && shift && exec "$@"'
  const { stdout, stderr } = spawnSync(
    'unshare',
    ['--user', '--map-root-user', '--mount', 'sh', '-c', mounting, 'sh', at(), ...node],
    {
      encoding: 'utf8',
    },
  )
  expect([stderr, JSON.parse(stdout)]).toEqual(['', ['.', '/other']])
})

test('what may not be opened is left to who walks, and may change its mode', () => {
  put('locked/file')
  for (const path of [base, at()]) fs.chmodSync(path, 0o755)
  fs.chmodSync(at('locked'), 0)
  const script = `
    import * as fs from 'node:fs'
    import { scanWithHelper } from ${JSON.stringify(join(import.meta.dirname, 'scan-helper.ts'))}
    const top = fs.openSync(process.argv[1], 'r')
    console.log(String(await scanWithHelper(top, { onTop() {}, onDirectory() {} })))`
  const node = [process.execPath, '--input-type=module-typescript', '-e', script, at()]
  const user = isRoot ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', ...node] : node
  const { stdout, stderr } = spawnSync(user[0] ?? '', user.slice(1), { encoding: 'utf8' })
  fs.chmodSync(at('locked'), 0o755)
  expect([stderr, stdout]).toEqual(['', 'undefined\n'])
})

test('it can be cancelled, before and meanwhile', async () => {
  put('a/b')
  const options = { onTop: () => undefined, onDirectory: () => undefined }
  const aborted = expect.objectContaining({ code: 'aborted' }) as Error
  await expect(scanWithHelper(top, { ...options, signal: AbortSignal.abort() })).rejects.toEqual(aborted)
  const cancel = new AbortController()
  const looking = scanWithHelper(top, { ...options, signal: cancel.signal })
  cancel.abort()
  await expect(looking).rejects.toEqual(aborted)
})

test('what its listener throws is the failure', async () => {
  put('a/b')
  const onDirectory = (): void => {
    throw new Error('no more')
  }
  await expect(scanWithHelper(top, { onTop: () => undefined, onDirectory })).rejects.toThrow('no more')
})
