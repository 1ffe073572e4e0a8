import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations, type Table } from '../../src/api/table.ts'
import { readyTable, waitingTable } from '../../tools/ready-table.ts'
import { inRoot } from '../../tools/root.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-table-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function built(plugin: Plugin): Promise<Table> {
  const outfile = join(folder, `${plugin.name}.mjs`)
  const options = { bundle: true, format: 'esm', platform: 'node', logLevel: 'silent' } as const
  await build({ ...options, entryPoints: [inRoot('src/api/table.ts')], outfile, plugins: [plugin] })
  return ((await import(outfile)) as { operations: Table }).operations
}

test.each([readyTable, waitingTable])('$name: what is built is the table, however it is looked at', async (plugin) => {
  const table = await built(plugin)
  // Each way to look at an entry is the first one for some.
  for (const [at, entry] of table.entries()) {
    const original = operations[at] as Table[number]
    const looks = [
      () => expect({ ...entry }).toEqual(original),
      () => expect(Object.keys(entry)).toEqual(expect.arrayContaining(Object.keys(original))),
      () => expect(JSON.parse(JSON.stringify(entry))).toEqual(original),
      () => expect('input' in entry && !('nothing' in entry)).toBe(true),
      () => expect([entry.name, entry.output, entry.input]).toEqual([original.name, original.output, original.input]),
      () => expect(Object.getOwnPropertyNames(entry).length).toBe(Object.keys(original).length),
    ]
    for (let turn = 0; turn < looks.length; turn++) looks[(at + turn) % looks.length]?.()
    expect(entry.input).toBe(entry.input)
  }
  expect(table.map(({ name }) => name)).toEqual(operations.map(({ name }) => name))
})
