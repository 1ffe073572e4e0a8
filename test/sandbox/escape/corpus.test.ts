import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { someUser } from '../../support/random-selection.ts'
import { attacks } from './corpus.ts'
import { makeTools, runAttacks, type Tools } from './contained-run.ts'
import { wallsFile, wallsPage } from './walls-page.ts'

test('the published table is that of the attacks', () => {
  const page = readFileSync(wallsFile, 'utf8')
  expect(page).toBe(wallsPage(page))
})

test('every attack has a name of its own', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
})

describe('the escape corpus', () => {
  let tools: Tools
  beforeAll(() => {
    tools = makeTools()
  })
  afterAll(() => tools[Symbol.dispose]())

  it.each(someUser('corpus'))('as %s: 0 unexpected', (as) => {
    const { passed, failures } = runAttacks({ tools, as, file: 'corpus' })
    expect(failures).toEqual([])
    expect(passed).toBe(attacks.length * 4)
  })
})
