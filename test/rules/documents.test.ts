/** On the npm registry the name `aw` belongs to someone else: a reader who runs it through npx would run their code. */
import { expect, test } from 'vitest'
import { findAll, readFiles, type SourceFile } from './source-tree.ts'

const wrongPackage = (file: SourceFile): string[] =>
  findAll(file, /\b(?:npx|npm exec|pnpm dlx|bunx)\s+(?:-\S+\s+)*aw\b/g, 'that package is not ours')

test('no text tells people to run a package that is not ours', () => {
  const texts = readFiles('**/*.md', 'src/**/*.ts', 'examples/**/*', 'package.json')
  expect(texts.some(({ path }) => path.endsWith('.md'))).toBe(true)
  expect(texts.flatMap(wrongPackage)).toEqual([])
})

test.each(['Run `npx aw create`.', 'npx --yes aw tour', 'npm exec aw'])('the rule finds %s', (text) => {
  expect(wrongPackage({ path: 'README.md', text })).toHaveLength(1)
})

test('our own package passes', () => {
  expect(wrongPackage({ path: 'README.md', text: 'npx agent-workspaces tour' })).toEqual([])
})
