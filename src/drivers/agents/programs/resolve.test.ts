import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { resolveProgram } from './resolve.ts'

let folder = ''
beforeEach(() => {
  folder = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), 'aw-programs-')))
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

/** Text is a program; `->` a link to what follows. */
function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    fs.mkdirSync(dirname(file), { recursive: true })
    if (text.startsWith('-> ')) fs.symlinkSync(text.slice(3), file)
    else fs.writeFileSync(file, text, { mode: 0o755 })
  }
}

const native = '\x7fELF'
const script = '#!/usr/bin/env node\n'
const node = (version: string): string => `#!/bin/sh\necho v${version}\n`

const find = (binary: string, { path = ['bin'], avoid = ['avoid'] } = {}) =>
  resolveProgram(binary, {
    path: path.map((entry) => (entry.startsWith('/') || entry === '' ? entry : join(folder, entry))).join(':'),
    home: join(folder, 'home'),
    avoid: avoid.map((entry) => join(folder, entry)),
  })
const below = (path: string): string => path.replace(`${folder}/`, '')
const seen = async (...given: Parameters<typeof find>) => {
  const found = await find(...given)
  return found && { ...found, path: below(found.path), reads: found.reads.map(below).toSorted() }
}

test('a package that was installed for all projects: its own directory is enough', async () => {
  put({
    'bin/agent': '-> ../lib/node_modules/@them/agent/bin/agent.exe',
    'lib/node_modules/@them/agent/bin/agent.exe': native,
    'lib/node_modules/other/index.js': '',
  })
  expect(await seen('agent')).toEqual({
    path: 'lib/node_modules/@them/agent/bin/agent.exe',
    reads: ['lib/node_modules/@them/agent'],
  })
})

test('a package in a project needs those beside it, and the Node that the user has', async () => {
  put({
    'project/node_modules/.bin/agent': '-> ../agent/cli.js',
    'project/node_modules/agent/cli.js': script,
    'project/node_modules/agent/package.json': '{"engines":{"node":">=20"}}',
    'home/.nvm/versions/node/v9.1.0/bin/node': node('9.1.0'),
    'home/.nvm/versions/node/v24.3.0/bin/node': node('24.3.0'),
  })
  const found = await seen('agent', { path: ['project/node_modules/.bin', 'home/.nvm/versions/node/v9.1.0/bin'] })
  expect(found?.reads[0]).toBe('project/node_modules')
  expect(found?.problem).toBeUndefined()
  expect(found?.runtime?.name).toBe('node')
  expect(found?.runtime?.version).not.toBe('9.1.0')
})

test('a Node that is too old is told with what was found', async () => {
  put({
    'bin/agent': '-> ../lib/node_modules/agent/cli.js',
    'lib/node_modules/agent/cli.js': script,
    'lib/node_modules/agent/package.json': '{"engines":{"node":">=99.2"}}',
    'bin/node': node('24.3.0'),
  })
  const found = await find('agent')
  expect(found?.problem?.message).toBe(`it needs Node 99.2 or later, and ${folder}/bin/node is 24.3.0`)
  expect(found?.problem?.hint).toContain('Install Node 99.2 or later')
})

test('what runs it is missing', async () => {
  put({ 'bin/agent': '#!/usr/bin/env no-such-runtime\n' })
  expect((await find('agent'))?.problem?.message).toBe('it is run by no-such-runtime, and there is no no-such-runtime')
})

test.each([
  ['its full path', (to: string) => `#!/bin/bash\nexec "${to}" "$@"\n`],
  ['its own directory', () => '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/global/agent.exe" "$@"\n'],
])('a wrapper that knows %s leads to the program', async (_, wrapper) => {
  put({ 'bin/global/agent.exe': native, 'bin/agent': wrapper(join(folder, 'bin/global/agent.exe')) })
  expect(await seen('agent')).toEqual({ path: 'bin/global/agent.exe', reads: ['bin/global/agent.exe'] })
})

test('a wrapper that leads to itself, or nowhere, is the program', async () => {
  put({
    'bin/agent': `#!/bin/sh\nexec "${join(folder, 'bin/agent')}" "$@"\n`,
    'bin/b': '#!/bin/sh\nexec "/no/b" "$@"\n',
  })
  expect((await seen('agent'))?.path).toBe('bin/agent')
  expect((await seen('b'))?.path).toBe('bin/b')
})

test('a Python program needs its environment, and the Python that this was made with', async () => {
  put({
    'venv/pyvenv.cfg': '',
    'venv/bin/python': `-> ${join(folder, 'python/bin/python3.12')}`,
    'python/bin/python3.12': native,
    'python/lib/python3.12/os.py': '',
    'python/share/other': '',
    'home/.local/bin/agent': `-> ${join(folder, 'venv/bin/agent')}`,
    'venv/bin/agent': `#!${join(folder, 'venv/bin/python')}\n`,
  })
  expect(await seen('agent')).toEqual({
    path: 'venv/bin/agent',
    reads: ['python/bin/python3.12', 'python/lib', 'venv'],
  })
})

test('a Python in the home of a user shows nothing else of that home', async () => {
  put({
    'home/bin/python3': native,
    'home/lib/python3.12/os.py': '',
    'home/.ssh/id_ed25519': 'secret',
    'bin/agent': `#!${join(folder, 'home/bin/python3')}\n`,
  })
  expect(await seen('agent')).toEqual({ path: 'bin/agent', reads: ['bin/agent', 'home/bin/python3', 'home/lib'] })
})

test('what every sandbox sees is not bound again', async () => {
  expect(await find('/usr/bin/env')).toEqual({ path: fs.realpathSync.native('/usr/bin/env'), reads: [] })
})

test('none is taken from where agents work, by PATH, by a link, by a wrapper or by name; nor from a relative PATH', async () => {
  put({
    'avoid/ws/bin/agent': native,
    'linked/agent': `-> ${join(folder, 'avoid/ws/bin/agent')}`,
    'wrapped/agent': `#!/bin/sh\nexec "${join(folder, 'avoid/ws/bin/agent')}" "$@"\n`,
  })
  expect(await find('agent', { path: ['avoid/ws/bin', 'linked'] })).toBeUndefined()
  expect(await find(join(folder, 'avoid/ws/bin/agent'))).toBeUndefined()
  expect((await seen('agent', { path: ['wrapped'] }))?.path).toBe('wrapped/agent')
  expect(await find('agent', { path: [''] })).toBeUndefined()
  expect(await find('no-such-agent')).toBeUndefined()
})

test('a shim of Volta is told as such', async () => {
  put({ 'bin/agent': '-> volta-shim', 'bin/volta-shim': native })
  expect((await find('agent'))?.problem?.message).toContain('Volta')
})
