/** The link of the command: each module starts when something of it is first used, and once. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linkLazily, type Linked } from '../../tools/lazy-link.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-link-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What the linked programs say. */
const telling = globalThis as unknown as { told: unknown[] }

function linked(sources: Readonly<Record<string, string>>): Promise<Linked> {
  for (const [name, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(folder, 'src', name)), { recursive: true })
    writeFileSync(join(folder, 'src', name), text)
  }
  const options = { absWorkingDir: folder, bundle: true, platform: 'node', target: 'node22.18' } as const
  return linkLazily('src/main.ts', options)
}

type Program = (require: NodeJS.Require, file: string, ...given: unknown[]) => unknown

/** Runs it until it has said `end`, and tells what it said: the same, whichever modules are together from the first. */
async function said({ program, added, modules }: Linked): Promise<unknown[]> {
  const run = ([before, after]: readonly [string, string], text: string, ...given: unknown[]): unknown =>
    (runInThisContext(before + text + after) as Program)(
      createRequire(import.meta.url),
      join(folder, 'a.cjs'),
      ...given,
    )
  const add = (number: number, ...shared: unknown[]): unknown => run(added, modules[number]?.text ?? '', ...shared)
  const all = [...modules.keys()]
  const runs: unknown[][] = []
  for (const together of [[], all.filter((number) => number % 2 === 0), all]) {
    telling.told = []
    const start = run(program, together.map((number) => `${number}:${modules[number]?.text}`).join(','), add)
    ;(start as (number: number) => unknown)(0)
    await expect.poll(() => telling.told.at(-1)).toBe('end')
    runs.push(telling.told.slice(0, -1))
  }
  expect(runs).toEqual([runs[0], runs[0], runs[0]])
  return runs[0] ?? []
}

test('a module starts at the first use of it, and once', async () => {
  const program = await linked({
    'main.ts': `import { a } from './a.ts'
      import { never } from './never.ts'
      told.push('main')
      told.push(a(), a())
      if (told.length === 0) never()
      told.push('end')`,
    'a.ts': `import { b } from './deep/b.ts'
      told.push('a')
      export const a = (): string => b`,
    'deep/b.ts': `told.push('b')
      export const b: string = 'value of b'`,
    'never.ts': `told.push('never')
      export function never() {}`,
  })
  expect(await said(program)).toEqual(['main', 'a', 'b', 'value of b', 'value of b'])
})

test('what is passed on, imported later, or all under one name, waits as well', async () => {
  const program = await linked({
    'main.ts': `import { a, b } from './both.ts'
      import * as all from './all.ts'
      import { sep } from 'node:path'
      async function main() {
        told.push(a, sep, all.one + all.two)
        const { later } = await import('./later.ts')
        told.push(later, 'end')
        if (told.length === 0) b()
      }
      void main()`,
    'both.ts': `export { a } from './a.ts'
      export { b } from './b.ts'
      told.push('both')`,
    'a.ts': `export const a = 'a'`,
    'b.ts': `export const b = () => told.push('b')
      told.push('started b')`,
    'all.ts': `export const one = 1
      export const two = 2`,
    'later.ts': `told.push('start of later')
      export const later = 'later'`,
  })
  expect(await said(program)).toEqual(['both', 'a', '/', 3, 'start of later', 'later'])
})

test('a table starts those of its modules that are asked for', async () => {
  const program = await linked({
    'main.ts': `import { rows, table } from './table.ts'
      told.push(table['of two']('x'), rows[1]?.does('y'), 'end')`,
    'table.ts': `import { one } from './one.ts'
      import { three } from './three.ts'
      import * as two from './two.ts'
      export const table: Record<string, (text: string) => string> = { one, 'of two': two.of }
      export const rows = [{ name: 'one', does: one }, { name: 'three', does: three.does }]`,
    'one.ts': `told.push('one')
      export const one = (text: string) => text`,
    'two.ts': `told.push('two')
      export const of = (text: string) => text + text`,
    'three.ts': `told.push('three')
      export const three = { does: (text: string) => text + text + text }`,
  })
  expect(await said(program)).toEqual(['two', 'three', 'xx', 'yyy'])
})

test('resources are given back at the end of their block', async () => {
  const using = (name: string): string =>
    `export function ${name}() { using _ = { [Symbol.dispose]: () => void told.push('end of ${name}') }; told.push('${name}') }`
  const program = await linked({
    'main.ts': `import { one } from './one.ts'
      async function main() { one(); (await import('./two.ts')).two(); told.push('end') }
      void main()`,
    'one.ts': using('one'),
    'two.ts': using('two'),
  })
  expect(await said(program)).toEqual(['one', 'end of one', 'two', 'end of two'])
})

test.each([
  ['an export that changes', `export let a = 1; export const set = () => { a = 2 }`, /cannot be linked: let a/],
  [
    'a name that the link uses',
    `export const a = 1; const $started = 2; told.push($started)`,
    /has a name that the link/,
  ],
  ['a module that is asked for in the old way', `export const a = require("node:fs")`, /cannot be linked/],
])('%s is refused', async (_, text, message) => {
  await expect(linked({ 'main.ts': `import { a } from './a.ts'\ntold.push(a)`, 'a.ts': text })).rejects.toThrow(message)
})

test('the hash is that of what was linked', async () => {
  const one = await linked({ 'main.ts': `told.push(1)` })
  const same = await linked({ 'main.ts': `told.push(1)` })
  const other = await linked({ 'main.ts': `told.push(2)` })
  expect(same).toEqual(one)
  expect(other.hash).not.toBe(one.hash)
})
