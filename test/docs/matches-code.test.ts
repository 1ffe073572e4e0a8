/** What the documents list is what the code has. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { operations } from '../../src/api/table.ts'
import { profiles } from '../../src/domain/workspace/profiles.ts'
import { upcasts } from '../../src/domain/log/upcast.ts'
import { openAw } from '../../src/index.ts'
import { inRoot } from '../../tools/root.ts'
import { blocksOf, inlineCodeOf } from './markdown.ts'
import { readFiles, readOne } from '../rules/source-tree.ts'

const unnamed = (names: readonly string[], page: string): string[] =>
  names.filter((name) => !readOne(page).text.includes(`\`${name}\``))

test('every folder of src/ is in ARCHITECTURE.md', () => {
  const folders = readdirSync(inRoot('src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.length).toBeGreaterThan(5)
  expect(
    unnamed(
      folders.map(({ name }) => `${name}/`),
      'ARCHITECTURE.md',
    ),
  ).toEqual([])
})

test('every page is in the index of the documents', () => {
  const pages = readFiles('docs/**/*.md').map(({ path }) => path.replace('docs/', ''))
  const index = readOne('docs/README.md').text
  expect(pages.filter((path) => path !== 'README.md' && !index.includes(`(${path})`))).toEqual([])
})

test('every type of event is in the guide', () => {
  expect(unnamed(Object.keys(upcasts), 'docs/guides/events.md')).toEqual([])
})

test('every profile is in the guide, with its directories', () => {
  const { text } = readOne('docs/guides/getting-started.md')
  for (const { name, directories, metadata } of Object.values(profiles)) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? ''
    for (const word of [...directories, metadata]) expect([name, row]).toEqual([name, expect.stringContaining(word)])
  }
})

test('source files that documents name are there', () => {
  const own = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md']
  const pages = readFiles(...own, 'docs/{adr,contributing}/*.md', 'docs/tenets.md')
  const named = pages.flatMap(({ text }) => inlineCodeOf(text).filter((code) => /^[\w-]+\/[\w./-]*\w\.\w+$/.test(code)))
  expect(named.length).toBeGreaterThan(30)
  // What a reader of the pages for contributors is asked to write.
  const written = /\bage\.(ts|v1\.json)$|\bmine\b/
  const missing = (path: string): boolean => !existsSync(inRoot(path)) && !existsSync(inRoot(`src/${path}`))
  expect(named.filter((path) => missing(path) && !written.test(path))).toEqual([])
})

test('the README lists what is in a home', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aw-home-'))
  try {
    const aw = await openAw({ home })
    await aw.create({ id: 'task/agent' })
    await aw[Symbol.asyncDispose]()
    const block = blocksOf(readOne('README.md').text).find(({ text }) => text.startsWith('~/.aw/'))?.text ?? ''
    const listed = block.split('\n').map((line) => line.trim().split(/[\s/]/)[0])
    expect(readdirSync(home).filter((name) => !listed.includes(name))).toEqual([])
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

test('the token of the README may do what the README asks with it', () => {
  const block = blocksOf(readOne('README.md').text).find(({ text }) => text.includes('aw token create'))?.text ?? ''
  const [, address] = /https?:\/\/[^/\s]+\/api(\/\S*)/.exec(block) ?? []
  const asked = operations.find(({ routes }) => routes.some((route) => route === `GET ${address}`))
  expect(asked?.name).toBe('list')
  expect([...block.matchAll(/--scope (\S+)/g)].map(([, scope]) => scope)).toContain(asked?.scope)
  expect(block).toContain('AW_TOKEN=$(aw token create -q ')
})
