/** The package runs on every Node from its `engines` on; the checkout has a newer one, where these would go unnoticed. */
import { expect, test } from 'vitest'
import { findAll, readFiles, type SourceFile } from './source-tree.ts'

/** Of Node 24, and not of 22.18. What is only syntax, as `using`, is translated when the package is built. */
const tooNew = String.raw`\b(?:Async)?DisposableStack\b|\bPromise\.try\b|\bRegExp\.escape\b|\bError\.isError\b|\bFloat16Array\b|\bMath\.f16round\b|\bAtomics\.pause\b|\bIterator\.concat\b|\bUint8Array\.from(?:Base64|Hex)\b|\bimport\.meta\.main\b`

const uses = (file: SourceFile): string[] => findAll(file, new RegExp(tooNew, 'g'), 'the oldest Node does not have it')

test('nothing in src is newer than the oldest Node that the package promises', () => {
  const sources = readFiles('src/**/*.ts')
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.flatMap(uses)).toEqual([])
  expect(readFiles('package.json')[0]?.text).toContain('"node": ">=22.18"')
})

test.each([
  'using a = new DisposableStack()',
  'await Promise.try(f)',
  'RegExp.escape(text)',
  'if (import.meta.main) f()',
])('the rule finds %s', (text) => {
  expect(uses({ path: 'src/a.ts', text })).toHaveLength(1)
})
