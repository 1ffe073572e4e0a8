import { expect, test } from 'vitest'
import { operations } from '../api/table.ts'
import { canRunInDaemon, isTextOnly } from './runs-in-daemon.ts'

test('what a daemon runs for others takes words and gives words', () => {
  const left = operations.filter((operation) => !isTextOnly(operation)).map(({ name }) => name)
  expect(left.toSorted()).toEqual([
    'agents list',
    'agents show',
    'agents test',
    'connect',
    'cp',
    'diff',
    'doctor',
    'events',
    'exec',
    'export',
    'fs append',
    'fs download',
    'fs read',
    'fs upload',
    'fs write',
    'import',
    'logs',
    'prompt adapt',
    'run',
    'start',
    'status',
    'template create',
    'template update',
  ])
})

test.each([
  ['path one', true],
  ['-q fork one two --json', true],
  ['destroy one two three --if-exists', true],
  ['snapshot one --meta {"a":1}', true],
  // What is in a file is the caller's to read.
  ['snapshot one --meta @facts.json', false],
  ['--home /elsewhere path one', false],
  ['path one --set workspaces.profile=repo', false],
  ['path one --config-file aw.toml', false],
  ['exec one -- true', false],
  ['create one', true],
  ['create one --from folder', false],
  ['create one --repo https://example.com/x.git', false],
  ['env set one A=1', true],
  ['env set one --secret TOKEN', false],
  ['serve', false],
  ['fs', false],
  ['pth one', false],
  ['path one --nonsense', false],
  ['', false],
])('%j', (line, served) => {
  expect(canRunInDaemon(line.split(' ').filter(Boolean))).toBe(served)
})
