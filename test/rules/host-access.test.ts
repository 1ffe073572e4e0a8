/** Files, processes, sockets and native code are touched in sys/ and drivers/ only; the rest of the product asks them. */
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

const hostModules = ['node:fs', 'node:fs/promises', 'node:child_process', 'node:net', 'node:sqlite']

const exceptions: Readonly<Record<string, readonly string[]>> = {
  // The command reads what it was given: a file, or what was piped in.
  'src/cli/': ['node:fs', 'node:fs/promises'],
  // A forwarded port is one of the caller's machine, wherever the manager is: it listens at the loopback.
  'src/client/forward.ts': ['node:net'],
  // The way to a daemon, from wherever the client is.
  'src/client/remote/wire.ts': ['node:net'],
}

function hostAccess(file: SourceFile): string[] {
  if (/^src\/(sys|drivers)\//.test(file.path)) return []
  const allowed = Object.entries(exceptions).flatMap(([folder, modules]) =>
    file.path.startsWith(folder) ? modules : [],
  )
  return importsOf(file)
    .filter(({ kind, specifier }) => kind !== 'type' && hostModules.includes(specifier) && !allowed.includes(specifier))
    .map(({ line, specifier }) => `${file.path}:${line}: ${specifier} belongs to src/sys or src/drivers`)
}

test('only sys/ and drivers/ touch the host', () => {
  const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))
  expect(sources.some(({ path }) => path.startsWith('src/sys/'))).toBe(true)
  expect(sources.flatMap(hostAccess)).toEqual([])
})

test.each([
  ['src/manager/diff/a.ts', `import { writeFile } from 'node:fs/promises'`],
  ['src/http/a.ts', `import { DatabaseSync } from 'node:sqlite'`],
  ['src/aw.ts', `import { spawn } from 'node:child_process'`],
  ['src/client/a.ts', `const { connect } = await import('node:net')`],
  ['src/cli/a.ts', `const { spawn } = await import('node:child_process')`],
])('the rule finds %s: %s', (path, text) => {
  expect(hostAccess({ path, text })).toHaveLength(1)
})
