/** Who may import whom. Everything points at `domain` and `ports`; only `aw.ts` sees the manager and the drivers together. */
import { dirname, join } from 'node:path/posix'
import { expect, test } from 'vitest'
import { importsOf, type Import } from './imports.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

interface Row {
  /** Other parts of src/, besides the own one. */
  readonly parts: readonly string[]
  readonly onlyTypes?: readonly string[]
  readonly onlyLazily?: readonly string[]
  /** Modules from outside: whole (`node:*` is all of Node), or the names that may be taken from one. */
  readonly outside?: readonly string[]
  readonly names?: Readonly<Record<string, readonly string[]>>
}

const table: Readonly<Record<string, Row>> = {
  domain: { parts: [], names: { 'node:crypto': ['createHash', 'hash'] } },
  ports: { parts: [], onlyTypes: ['api', 'domain'] },
  manager: { parts: ['domain', 'ports'], onlyTypes: ['api'] },
  sys: { parts: ['domain'], onlyTypes: ['ports'], outside: ['node:*'] },
  drivers: { parts: ['domain', 'ports', 'sys'], outside: ['node:*', 'smol-toml'] },
  api: { parts: ['domain'] },
  access: { parts: ['api', 'domain', 'ports'] },
  http: { parts: ['access', 'api', 'domain', 'ports', 'version.ts'], outside: ['node:*', 'ws'] },
  client: { parts: ['api', 'domain', 'ports'], outside: ['node:*', 'ws'] },
  mcp: {
    parts: ['api', 'domain', 'ports'],
    outside: [
      'node:*',
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/server/stdio',
    ],
  },
  cli: {
    parts: ['api', 'client', 'domain', 'ports', 'version.ts'],
    onlyTypes: ['daemon', 'mcp'],
    onlyLazily: ['aw.ts', 'init.ts'],
    outside: ['node:*', 'smol-toml'],
  },
  'aw.ts': {
    parts: ['api', 'client', 'domain', 'drivers', 'manager', 'ports', 'sys', 'version.ts'],
    outside: ['node:*', 'smol-toml'],
  },
  daemon: {
    parts: ['access', 'api', 'aw.ts', 'client', 'domain', 'http', 'mcp', 'ports', 'sys', 'version.ts'],
    outside: ['node:*'],
  },
  'init.ts': { parts: ['aw.ts', 'domain', 'drivers', 'ports', 'sys'], outside: ['node:*'] },
  'index.ts': { parts: ['api', 'aw.ts', 'init.ts', 'client', 'domain', 'version.ts'], onlyTypes: ['ports'] },
  'version.ts': { parts: [], outside: ['node:module'] },
}

/** `domain` for src/domain/ids.ts, `aw.ts` for src/aw.ts. */
const partOf = (path: string): string => path.split('/')[1] ?? path

function brokenLayers(file: SourceFile): string[] {
  const part = partOf(file.path)
  const row = table[part]
  if (!row) return [`${file.path}: ${part} has no row in the table of layers`]
  return importsOf(file)
    .filter((wanted) => !isAllowed(row, part, wanted, file.path))
    .map(({ line, kind, specifier }) => `${file.path}:${line}: ${part} may not import ${specifier} (${kind})`)
}

function isAllowed(row: Row, part: string, { specifier, kind, names }: Import, path: string): boolean {
  if (!specifier.startsWith('.')) return isAllowedOutside(row, specifier, names)
  const target = partOf(join(dirname(path), specifier))
  if (target === part || row.parts.includes(target)) return true
  if (kind === 'type') return [...(row.onlyTypes ?? []), ...(row.onlyLazily ?? [])].includes(target)
  return kind === 'lazy' && (row.onlyLazily ?? []).includes(target)
}

function isAllowedOutside({ outside = [], names: allowed = {} }: Row, specifier: string, names: readonly string[]) {
  if (outside.includes(specifier)) return true
  if (specifier.startsWith('node:') && outside.includes('node:*')) return true
  const plain = names.map((name) => name.split(' as ')[0] ?? name)
  return plain.length > 0 && plain.every((name) => allowed[specifier]?.includes(name))
}

const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))

test('every module keeps to its layer', () => {
  expect(sources.flatMap(brokenLayers)).toEqual([])
})

test('the rule has read the tree: every part, and every relative import in it', () => {
  const expected = ['api', 'cli', 'domain', 'drivers', 'manager', 'ports', 'sys', 'aw.ts', 'index.ts']
  expect([...new Set(sources.map(({ path }) => partOf(path)))]).toEqual(expect.arrayContaining(expected))
  expect(sources.length).toBeGreaterThan(50)
  for (const file of sources) {
    const written = file.text.match(/^(?!\s*(?:\*|\/\/)).*(?:from |import\()'\.\.?\//gm)?.length ?? 0
    const read = importsOf(file).filter(({ specifier }) => specifier.startsWith('.')).length
    expect([file.path, read]).toEqual([file.path, written])
  }
})

test.each([
  ['src/domain/a.ts', `import type { Clock } from '../ports/clock.ts'`],
  ['src/domain/a.ts', `import { randomBytes } from 'node:crypto'`],
  ['src/domain/a.ts', `import { createHash, randomBytes } from 'node:crypto'`],
  ['src/domain/a.ts', `import * as crypto from 'node:crypto'`],
  ['src/ports/a.ts', `import { AwError } from '../domain/errors.ts'`],
  ['src/manager/a.ts', `import { driver } from '../drivers/storage/local/driver.ts'`],
  ['src/manager/a.ts', `import { join } from 'node:path'`],
  ['src/sys/a.ts', `import { b } from '../ports/b.ts'`],
  ['src/drivers/storage/a.ts', `export * from '../../manager/create.ts'`],
  ['src/api/a.ts', `import type { Manager } from '../ports/manager.ts'`],
  ['src/cli/a.ts', `import { openManager } from '../aw.ts'`],
  ['src/cli/a.ts', `const { create } = await import('../manager/create.ts')`],
  ['src/daemon/a.ts', `import type { Io } from '../cli/io.ts'`],
  ['src/index.ts', `export { Manager } from './ports/manager.ts'`],
  ['src/elsewhere/a.ts', ''],
])('the rule finds %s: %s', (path, text) => {
  expect(brokenLayers({ path, text })).toHaveLength(1)
})

test('the rule lets pass what the table allows', () => {
  const allowed: readonly [string, string][] = [
    ['src/domain/a.ts', `import { createHash } from 'node:crypto'`],
    ['src/domain/a.ts', `import { hash as digest } from 'node:crypto'`],
    ['src/ports/a.ts', `import type { AwError } from '../domain/errors.ts'`],
    ['src/cli/a.ts', `const { openManager } = await import('../aw.ts')`],
    ['src/drivers/storage/a.ts', `import { b } from '../../sys/b.ts'`],
  ]
  expect(allowed.flatMap(([path, text]) => brokenLayers({ path, text }))).toEqual([])
})
