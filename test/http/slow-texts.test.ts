import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, held } from './ask.ts'

/**
 * Texts that take minutes if they are read by trial and error. Whoever reads one is the whole daemon: nobody else is
 * answered meanwhile, so these tests would run out of their time.
 */

const core = memoryCore().manager
const stars = '*a'.repeat(8)
const long = 'a'.repeat(60)
let door: Served

beforeAll(async () => {
  await core.call('create', { id: 'one' })
  await core.call('create', { id: long })
  door = await served(core, { over: 'tcp', principals: { admin, starry: held(`${stars}*b/*`, `${stars}*/main`) } })
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

test('content that is nothing but padding', async () => {
  const content = `${'='.repeat(400_000)}x`
  const answer = await ask(door, 'PUT', '/api/workspaces/one/files/content', { json: { path: 'a', content } })
  expect(answer.json).toMatchObject({ status: 400, code: 'invalid_input' })
})

test('a message of characters that are not seen', async () => {
  const message = `a${'\u200c'.repeat(250_000)}b`
  const answer = await ask(door, 'POST', '/api/workspaces/one/snapshots', { json: { message } })
  expect(answer.status).toBe(201)
})

test('a path of slashes', async () => {
  const adapted = (length: number) =>
    ask(door, 'POST', '/api/workspaces/one/prompt', {
      json: { text: 'see /old', from: [`${'/'.repeat(length)}x`, '/old//'] },
    })
  expect((await adapted(400_000)).json).toMatchObject({ status: 400, code: 'invalid_input' })
  expect((await adapted(16_000)).json['text']).not.toContain('/old')
})

test('a field, and a value, that are far too long to be a misspelt one', async () => {
  const far = 'x'.repeat(900_000)
  for (const json of [
    { argv: ['true'], [far]: 1 },
    { argv: ['true'], network: far },
  ]) {
    const answer = await ask(door, 'POST', '/api/workspaces/one/exec', { json })
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_input' })
    expect(String(answer.json['hint'])).not.toContain('Did you mean')
  }
})

test('a token for names with many stars', async () => {
  const answer = await ask(door, 'GET', '/api/workspaces', { token: 'starry' })
  expect(answer.json).toMatchObject([{ workspace_id: `${long}/main` }])
})
