import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { daemonLog } from './log.ts'

function written(form: 'words' | 'json', record: Readonly<Record<string, unknown>>): string {
  let text = ''
  const to = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  daemonLog({ to, form })(record)
  return text
}

const record = { operation: 'list', actor: undefined, error: 'a\nb' }

test('programs get a line of JSON, with the time', () => {
  const line = written('json', record)
  expect(line).toMatch(/^\{"at":"\d{4}-\d\d-\d\dT[\d:.]{12}Z","operation":"list","error":"a\\nb"\}\n$/)
})

test('people get a few words, and nothing that rewrites their terminal', () => {
  expect(written('words', record)).toMatch(/^[\d:.]{12} operation=list actor=undefined error=a\\x0ab\n$/)
})

test('whoever stops reading keeps nobody from writing', async () => {
  const to = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
  const log = daemonLog({ to, form: 'json' })
  log(record)
  await new Promise(setImmediate)
  expect(() => log(record)).not.toThrow()
  await new Promise(setImmediate)
})
