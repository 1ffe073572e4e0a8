/** No folder holds more than a reader can take in at a glance. */
import { dirname } from 'node:path/posix'
import { expect, test } from 'vitest'
import { pathsOf } from './source-tree.ts'

const most = 30

/** Data, one file for each case; nobody looks for code there. */
const samples = 'test/samples/'

function tooWide(paths: readonly string[]): string[] {
  const entries = new Map<string, number>()
  for (const path of paths) {
    const folder = dirname(path)
    if (!`${folder}/`.startsWith(samples)) entries.set(folder, (entries.get(folder) ?? 0) + 1)
  }
  return [...entries].flatMap(([folder, count]) =>
    count > most ? [`${folder}: ${count} entries, and ${most} are the most; sort them into folders`] : [],
  )
}

test('no folder has more than 30 entries', () => {
  const paths = pathsOf('{src,native,test,tools,bench,docs,examples}/**/*')
  for (const folder of ['src/manager', 'native/box', 'test/samples/answers', 'tools', 'bench', 'docs'])
    expect(paths.filter((path) => dirname(path) === folder).length).toBeGreaterThan(5)
  expect(tooWide(paths)).toEqual([])
})

test('the rule finds a wide folder, whatever is in it', () => {
  const files = (folder: string, count: number) => Array.from({ length: count }, (_, i) => `${folder}/${i}.ts`)
  expect(tooWide(files('src/a', most))).toEqual([])
  expect(tooWide(files('src/a', most + 1))).toHaveLength(1)
  expect(tooWide([...files('src/a', most), 'src/a/b', 'src/a/b/c.ts'])).toHaveLength(1)
  expect(tooWide(files('test/samples/a', most + 1))).toEqual([])
})
