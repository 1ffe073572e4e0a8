/** Bytes that are no text, and values that are no strings, name nothing: no door takes one thing for another. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openManager } from '../../src/aw.ts'
import { connectAw } from '../../src/client/main.ts'
import { openAw, type Aw } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, type Question } from './ask.ts'

let folder: string
let core: Manager
let door: Served
let work: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aw-texts-'))
  core = await openManager({ home: join(folder, 'home'), env: {} })
  door = await served(core, { over: 'tcp', principals: { admin } })
  work = join((await core.call('create', { id: 'x' })).path, 'work')
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const codeOf = async (method: string, path: string, question?: Question): Promise<[number, unknown]> => {
  const { status, json } = await ask(door, method, path, question)
  return [status, json['code']]
}
const files = '/api/workspaces/x%2Fmain/files'

/** `\xff`, and the character that stands for whatever is not text. */
const odd = (): Buffer => Buffer.concat([Buffer.from(`${work}/`), Buffer.of(0xff)])
const replaced = (): string => join(work, '\ufffd')

test('removing a file whose name is not text leaves the file that looks like it', async () => {
  writeFileSync(odd(), 'bytes')
  writeFileSync(replaced(), 'text')
  expect(await codeOf('DELETE', `${files}?path=work/%FF`)).toEqual([400, 'invalid_path'])
  expect([existsSync(odd()), existsSync(replaced())]).toEqual([true, true])
  expect((await ask(door, 'DELETE', `${files}?path=work/%EF%BF%BD`)).json).toEqual({ removed: true })
  expect([existsSync(odd()), existsSync(replaced())]).toEqual([true, false])
})

/** Not UTF-8: a byte that never is, a half of two, a surrogate, a slash in two bytes, one beyond the last. */
const notText = ['%FF', '%C3', 'a%80', '%ED%A0%80', '%C0%AF', '%F4%90%80%80', 'é%FF'.replace('é', '%C3%A9')]

describe.each(notText)('%s', (bytes) => {
  test.each([
    ['GET', `${files}/content?path=${bytes}`],
    ['PUT', `${files}/content?path=work/${bytes}`],
    ['GET', `${files}?path=${bytes}`],
    ['GET', `${files}/tree?path=${bytes}`],
    ['GET', `${files}/stat?path=${bytes}`],
    ['GET', `${files}/resolve?path=${bytes}`],
    ['DELETE', `${files}?path=${bytes}&recursive=true`],
  ])('is no path: %s %s', async (method, path) => {
    const content = { bytes: 'x', headers: { 'content-type': 'application/octet-stream' } }
    expect(await codeOf(method, path, method === 'PUT' ? content : {})).toEqual([400, 'invalid_path'])
  })

  test.each([
    ['GET', `/api/workspaces/${bytes}`],
    ['DELETE', `/api/workspaces/${bytes}`],
    ['GET', `/api/workspaces/${bytes}/files?path=work`],
    ['GET', `/api/workspaces?label=${bytes}`],
    ['GET', `/api/workspaces?label=team=${bytes}`],
    ['GET', `/api/workspaces?${bytes}=1`],
  ])('is no text: %s %s', async (method, path) => {
    expect(await codeOf(method, path)).toEqual([400, 'invalid_input'])
  })
})

test('what is text arrives as it was sent', async () => {
  for (const [query, name] of [
    ['work/a%20b', 'a b'],
    ['work/a+b', 'a b'],
    ['work/a%2Bb', 'a+b'],
    ['work/100%25', '100%'],
    ['work/100%', '100%'],
    ['work/%F0%9F%99%82%C3%A9', '🙂é'],
    ['work/%EF%BF%BD', '\ufffd'],
    ['work/=', '='],
  ] as const) {
    const content = { bytes: name, headers: { 'content-type': 'application/octet-stream' } }
    const made = await ask(door, 'PUT', `${files}/content?path=${query}`, content)
    expect(made.json).toMatchObject({ path: `work/${name}` })
    rmSync(join(work, name))
  }
})

test.each([
  [`${files}?path=work&path=output`, 'invalid_path'],
  [`${files}/content?path=work/a&path=work/a`, 'invalid_path'],
  [`${files}/content?path[]=work/a`, 'invalid_input'],
  [`${files}/content?path[0]=work/a`, 'invalid_input'],
  [`${files}/content?path.x=work/a&path=work/b`, 'invalid_input'],
  [`${files}?path=work&limit=1&limit=2`, 'invalid_input'],
])('no field is given twice, or as something else: %s', async (path, code) => {
  expect(await codeOf('GET', path)).toEqual([400, code])
})

const noPaths = [7, true, null, ['a'], { a: 1 }, '\ud800', 'work/\udfff', '\udc00\ud800']

test.each(noPaths.map((path) => [path]))('%j is no path in JSON', async (path) => {
  expect(await codeOf('POST', `${files}/mkdir`, { json: { path } })).toEqual([400, 'invalid_path'])
  expect(await codeOf('POST', `${files}/move`, { json: { from: path, to: 'work/b' } })).toEqual([400, 'invalid_path'])
  expect(await codeOf('POST', `${files}/copy`, { json: { from: 'work/b', to: path } })).toEqual([400, 'invalid_path'])
})

test.each([['\ud800'], ['a/\udfff'], [7], [null], [['a']]])('%j names no workspace', async (id) => {
  expect(await codeOf('POST', '/api/workspaces', { json: { id } })).toEqual([400, 'invalid_input'])
})

describe.each(['in this process', 'through a daemon'])('the library %s', (where) => {
  let aw: Aw
  beforeAll(async () => {
    const { address } = door
    if ('socket' in address) throw new Error('It has a port')
    aw =
      where === 'in this process'
        ? await openAw({ home: join(folder, 'home'), env: {} })
        : connectAw({ url: `http://${address.host}:${address.port}`, token: 'admin' })
  })
  afterAll(() => aw[Symbol.asyncDispose]())

  test.each(noPaths.map((path) => [path]))('refuses %j likewise', async (given) => {
    const path = given as string
    const refused = expect.objectContaining({ code: 'invalid_path' }) as Error
    await expect(aw.fs.read('x', { path })).rejects.toEqual(refused)
    await expect(aw.fs.write('x', { path, content: '' })).rejects.toEqual(refused)
    await expect(aw.fs.list('x', { path })).rejects.toEqual(refused)
    await expect(aw.fs.remove('x', { path })).rejects.toEqual(refused)
    await expect(aw.fs.move('x', { from: 'work/a', to: path })).rejects.toEqual(refused)
    const download = async () => collect(aw.manager.stream('fs download', { id: 'x', path }))
    await expect(download()).rejects.toEqual(refused)
    await expect(aw.show(path)).rejects.toEqual(expect.objectContaining({ code: 'invalid_input' }))
  })
})

describe('headers', () => {
  const make = (headers: Question['headers']) =>
    codeOf('POST', `${files}/mkdir`, { json: { path: 'work/d', parents: true }, headers: headers ?? {} })

  test.each([
    ['idempotency-key', 'k\u00e9'],
    ['idempotency-key', ['one', 'two']],
    ['aw-lease', 'l\u00ff'],
    ['aw-lease', '%FF'],
    ['aw-actor', ['a', 'b']],
    ['aw-correlation-id', '%ED%A0%80'],
    ['aw-causation-id', 'caf\u00e9'],
  ])('%s: %j is refused', async (name, value) => {
    expect(await make({ [name]: value })).toEqual([400, 'invalid_input'])
  })

  test.each([['one'], ['-1'], ['1.5'], ['1e3'], [''], ['9'.repeat(20)], [['1', '2']]])(
    'Last-Event-ID: %j is refused, and not taken for the beginning',
    async (value) => {
      const headers = { accept: 'text/event-stream', 'last-event-id': value }
      expect(await codeOf('GET', '/api/events', { headers })).toEqual([400, 'invalid_input'])
    },
  )

  test('one that is right is followed', async () => {
    expect(await make({ 'idempotency-key': 'a key ~!' })).toEqual([200, undefined])
    const { text } = await ask(door, 'GET', '/api/events', {
      headers: { accept: 'text/event-stream', 'last-event-id': '1' },
    })
    expect(text).toContain('id: 2\n')
    expect(text).not.toContain('id: 1\n')
  })
})
