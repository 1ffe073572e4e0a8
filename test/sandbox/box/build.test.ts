/** What is built from C is in the package as its sources make it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { boxProgram } from '../../../src/drivers/sandbox/box/program.ts'
import { addonName } from '../../../src/sys/syscalls/calls-addon.ts'
import { copyProgram } from '../../../src/sys/copy/helper.ts'
import { compile, compilerVersion, hashSources, placeOf, products, readRecord } from '../../../tools/build-box.ts'
import { inRoot } from '../../../tools/root.ts'
import { testFolder } from './harness.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const again = 'Build it again: node tools/build-box.ts all'

describe.each(products.map((product) => [product.name, product.processor, product] as const))(
  '%s for %s',
  (...given) => {
    const product = given[2]
    const place = placeOf(product)

    test('was built from these sources', async () => {
      const record = await readRecord(product)
      expect([again, await hashSources(product)]).toEqual([again, record.sources])
      expect([again, sha256(readFileSync(place))]).toEqual([again, record.binary])
    })

    test('its sources make the same bytes again with the same compiler, and no warning with any', async () => {
      const record = await readRecord(product)
      const made = await compile(product, join(testFolder(), product.name))
      expect(made).toMatch(/^[0-9a-f]{64}$/)
      const expected = (await compilerVersion(product)) === record.compiler ? record.binary : made
      expect([again, made]).toEqual([again, expected])
    })

    test('is small, needs nothing, and knows no path of ours', () => {
      const binary = readFileSync(place)
      expect(statSync(place).mode & 0o777).toBe(0o755)
      expect(binary.length).toBeLessThan(150_000)
      expect(binary.includes('ld-musl')).toBe(false)
      expect(binary.includes(process.cwd())).toBe(false)
      const needs = execFileSync('readelf', ['--wide', '--dynamic', '--dyn-syms', place], { encoding: 'utf8' })
      expect(needs).not.toContain('(NEEDED)')
      // The addon asks Node for Node-API, and nobody for anything else.
      const asked = [...needs.matchAll(/ UND (\w+)/g)].map(([, name = '']) => name)
      expect(asked.filter((name) => !name.startsWith('napi_'))).toEqual([])
      expect(asked.length > 0).toBe(!product.isProgram)
    })
  },
)

test('they are where the product looks for them', () => {
  const here = products.filter(({ processor }) => processor === process.arch).map(placeOf)
  const client = /client=\$here\/\.\.\/(\S+)/.exec(readFileSync(inRoot('tools/aw.sh'), 'utf8'))?.[1] ?? ''
  expect(here).toEqual([boxProgram(), copyProgram(), inRoot(client), inRoot(addonName(process.arch as 'x64'))])
})
