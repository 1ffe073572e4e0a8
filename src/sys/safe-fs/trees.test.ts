import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digDown } from '../../../test/attacks/corpus.ts'
import { openDescriptors, useWorkspace } from '../../../test/attacks/workspace.ts'
import { measureTree, removeTree } from './index.ts'

const ws = useWorkspace()

test('removes a tree, whatever its names and depth, and says whether it was there', async () => {
  ws.put('t/a/b/c')
  fs.writeFileSync(Buffer.concat([Buffer.from(ws.path('t/x')), Buffer.from([0xff, 0xfe])]), '')
  digDown(ws.path('t/a'), 3000)
  const before = openDescriptors()
  expect(await removeTree(ws.path(), 't')).toBe(true)
  expect(await removeTree(ws.path(), 't')).toBe(false)
  expect(fs.readdirSync(ws.path())).toEqual([])
  expect(openDescriptors()).toBe(before)
})

test('removes a single file or link', async () => {
  ws.put('file')
  fs.symlinkSync('/etc', ws.path('link'))
  expect(await removeTree(ws.path(), 'file')).toBe(true)
  expect(await removeTree(ws.path(), 'link')).toBe(true)
  expect(fs.existsSync('/etc')).toBe(true)
})

test('can be stopped, leaves no descriptor open, and can be taken up again', async () => {
  for (let n = 0; n < 3000; n++) ws.put(`t/${n % 30}/${n}`)
  const before = openDescriptors()
  const stop = AbortSignal.abort()
  await expect(removeTree(ws.path(), 't', { signal: stop })).rejects.toMatchObject({ name: 'AbortError' })
  expect(openDescriptors()).toBe(before)
  expect(await removeTree(ws.path(), 't')).toBe(true)
})

test('a directory that is filled while it is removed goes all the same', async () => {
  for (let n = 0; n < 20000; n++) ws.put(`t/${n % 30}/${n}`)
  const removal = removeTree(ws.path(), 't')
  for (let n = 0; n < 30; n++) {
    fs.mkdirSync(ws.path(`t/${n}`), { recursive: true })
    fs.writeFileSync(ws.path(`t/${n}/late`), '')
  }
  expect(await removal).toBe(true)
  expect(fs.readdirSync(ws.path())).toEqual([])
})

test('measures files once, not links, not directories', async () => {
  ws.put('a/one', '12345')
  ws.put('two', '123')
  fs.linkSync(ws.path('two'), ws.path('a/again'))
  fs.symlinkSync('/etc', ws.path('a/link'))
  digDown(ws.path('a'), 500)
  expect(await measureTree(ws.path())).toMatchObject({ bytes: 8, files: 2 })
})

/** As somebody who is not allowed everything. */
function asUser(script: string): string {
  fs.chmodSync(ws.base, 0o777)
  fs.chmodSync(ws.path(), 0o777)
  const source = `
    import * as fs from 'node:fs'
    import { openRoot, removeTree } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))}
    const root = ${JSON.stringify(ws.path())}
    ${script}`
  const user = ['--reuid', '65534', '--regid', '65534', '--clear-groups']
  const run = spawnSync('setpriv', [...user, process.execPath, '--input-type=module-typescript', '-e', source], {
    encoding: 'utf8',
  })
  return run.stdout + run.stderr
}

test('an owner gets rid of directories that forbid it', () => {
  const told = asUser(`
    fs.mkdirSync(root + '/t/no/deep', { recursive: true })
    fs.writeFileSync(root + '/t/no/deep/file', '')
    for (const path of ['/t/no/deep', '/t/no', '/t']) fs.chmodSync(root + path, path === '/t/no' ? 0 : 0o500)
    console.log(await removeTree(root, 't'), fs.readdirSync(root))`)
  expect(told).toBe('true []\n')
})

test('who says so moves and removes in directories that forbid it, and they stay as they were', () => {
  const told = asUser(`
    const files = openRoot(root)
    const modeOf = (path) => (fs.statSync(root + path).mode & 0o777).toString(8)
    const codeOf = (call) => { try { call(); return 'ok' } catch (error) { return error.code } }
    fs.mkdirSync(root + '/a/own', { recursive: true })
    fs.writeFileSync(root + '/a/own/file', '')
    fs.mkdirSync(root + '/b')
    fs.writeFileSync(root + '/b/old', '')
    for (const path of ['/a/own', '/a', '/b']) fs.chmodSync(root + path, 0o555)
    console.log(codeOf(() => files.rename('a/own', 'b/own')), codeOf(() => files.remove('b/old')))
    console.log(codeOf(() => files.rename('a/own', 'b/own', { unlock: true })), codeOf(() => files.remove('b/old', { unlock: true })))
    console.log(fs.readdirSync(root + '/a'), fs.readdirSync(root + '/b'), ['/a', '/b', '/b/own'].map(modeOf))
    console.log(codeOf(() => files.rename('b/own/file', 'a/new/file', { parents: true, unlock: true })), modeOf('/a'), fs.readdirSync(root + '/a/new'))
    for (const path of ['/a', '/b', '/b/own']) fs.chmodSync(root + path, 0o777)`)
  expect(told.split('\n')).toEqual([
    'permission_denied permission_denied',
    'ok ok',
    "[] [ 'own' ] [ '555', '555', '555' ]",
    "ok 555 [ 'file' ]",
    '',
  ])
})

test('others do not, and are told', () => {
  fs.mkdirSync(ws.path('t'))
  ws.put('t/file')
  ws.put('mine', 'x')
  fs.chmodSync(ws.path('mine'), 0o600)
  const told = asUser(`
    const files = openRoot(root)
    const codeOf = (call) => { try { call(); return 'ok' } catch (error) { return error.code } }
    console.log(await removeTree(root, 't').catch((error) => error.code))
    console.log(codeOf(() => files.read('mine')), codeOf(() => files.write('t/new', '')), codeOf(() => files.write('mine', 'y')))
    fs.mkdirSync(root + '/shut', { mode: 0 })
    console.log(files.tree('').unreadable, codeOf(() => files.list('shut')))`)
  expect(told.split('\n')).toEqual([
    'permission_denied',
    'permission_denied permission_denied ok',
    "[ 'shut' ] permission_denied",
    '',
  ])
})
