import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Operation } from '../../src/api/operation.ts'
import { kebab } from '../../src/cli/input/flags.ts'
import { runCli } from '../support/cli.ts'
import { AwError } from '../../src/domain/errors.ts'
import { sampleInput, table } from '../http/samples.ts'

/** Whatever the table has can be asked for by a command line of its name, and arrives as it was meant. */

const cwd = mkdtempSync(join(tmpdir(), 'aw-reach-'))
afterAll(() => rmSync(cwd, { recursive: true, force: true }))

const refs = { id: 'a/main', workspace: 'a/main', from: 'a/main', to: 'b/main', of: 'a/main' }

/** Everything by its flag; a program stands at the end. */
function lineOf(operation: Operation, input: Readonly<Record<string, unknown>>): string[] {
  const words: string[] = []
  const program: string[] = []
  for (const [field, value] of Object.entries(input)) {
    const schema = operation.input.properties?.[field] ?? {}
    if (schema['x-cli'] === 'command') program.push('--', ...(value as string[]))
    else if (schema['x-cli'] === 'stdin') continue
    else for (const text of textsOf(value)) words.push(`--${kebab(field)}`, text)
  }
  return [...operation.name.split(' '), ...words, ...program]
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String)
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).map(([key, one]) => `${key}=${String(one)}`)
  return [String(value)]
}

const refused = (): AwError => new AwError('aborted', 'It was asked for')
const refusedStream = (): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(refused()) }),
})

test.each(table.map((operation) => [operation.name, operation] as const))('%s', async (name, operation) => {
  const sample = sampleInput(operation, refs)
  const input = Object.fromEntries(Object.entries(sample).map(([field, value]) => [field, value ?? `some-${field}`]))
  const answers = { [name]: () => (operation.form === 'stream' ? refusedStream() : Promise.reject(refused())) }
  const { calls, stderr } = await runCli(lineOf(operation, input), { cwd, stdin: 'from the input', answers })
  expect(stderr).toContain('It was asked for')
  const arrived = calls.filter((one) => one.name === name).map((one) => one.input as Record<string, unknown>)
  expect(arrived).toHaveLength(1)
  for (const [field, value] of Object.entries(input)) {
    const isFed = operation.input.properties?.[field]?.['x-cli'] === 'stdin'
    const got = arrived[0]?.[field]
    if (isFed) expect(Buffer.from(got as string | Uint8Array as string).toString()).toBe('from the input')
    else expect(textsOf(got)).toEqual(textsOf(value))
  }
})
