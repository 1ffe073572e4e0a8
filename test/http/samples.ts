import type { Operation } from '../../src/api/operation.ts'
import { operations } from '../../src/api/table.ts'
import { requestFor } from '../../src/client/remote/request.ts'
import type { Served } from '../support/http-manager.ts'
import { ask, type Answer } from './ask.ts'

/** For each operation an input that is well formed, so that it is refused for nothing but what a test is about. */

export const table: readonly Operation[] = operations

const usual: Readonly<Record<string, unknown>> = {
  text: 'Look into /workspace',
  holder: 'somebody',
  lease: 'ls_00000000000000000000000000',
  name: 'thing',
  argv: ['true'],
  port: 8080,
  names: ['A_NAME'],
  snapshot: 'head',
  snapshots: ['head'],
  path: 'work/file',
  content: Buffer.from('content'),
  file: '/none/archive',
  trash: 'thing.1',
  task: 'one',
}

const special: Readonly<Record<string, Record<string, unknown>>> = {
  rename: { to: 'made/renamed' },
  label: { labels: { key: 'value' } },
  fork: { to: ['made/forked'] },
  undelete: { as: 'made/again' },
  run: { argv: ['true'] },
  'env set': { env: { A_NAME: 'value' } },
  'fs move': { from: 'work/file', to: 'work/moved' },
  'fs copy': { from: 'work/file', to: 'work/copied' },
  cp: { from: '/none', to: '/none/other' },
  ttl: { duration: '1h' },
  limit: { size: 100 },
  branch: { name: 'side' },
  events: { limit: 3 },
}

/** @param refs what is named in each field that names a workspace; those that are not there are left out */
export function sampleInput(operation: Operation, refs: Readonly<Record<string, string>>): Record<string, unknown> {
  const { input, names = {}, name } = operation
  const needed = (input.required ?? []).map((field): [string, unknown] => [field, usual[field]])
  const all = Object.fromEntries([...needed, ...Object.entries(special[name] ?? {})])
  for (const field of Object.keys(names)) {
    delete all[field]
    const isList = input.properties?.[field]?.type === 'array'
    if (refs[field] !== undefined) all[field] = isList ? [refs[field]] : refs[field]
  }
  return all
}

/** Asks for an operation as the client does. */
export function askFor(door: Served, operation: Operation, input: object, token: string): Promise<Answer> {
  const { method, path, body, type } = requestFor(operation, input as Record<string, unknown>)
  const bytes = operation.takes === 'bytes' ? 'content' : (body as string | Uint8Array | undefined)
  const kind = operation.takes === 'bytes' ? 'application/octet-stream' : type
  return ask(door, method, path, {
    token,
    ...(bytes !== undefined && { bytes }),
    headers: kind === undefined ? {} : { 'content-type': kind },
  })
}
