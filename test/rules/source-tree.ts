import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** Of the project. */
export const root = dirname(dirname(import.meta.dirname))
const notOurs = new Set(['node_modules', 'dist', 'coverage', '.git'])

/** Reads the files that match, in order. */
export const readFiles = (...patterns: readonly string[]): readonly SourceFile[] => pathsOf(...patterns).map(readOne)

/** Files and folders that match, in order. Rules that read nothing pass on anything, so finding nothing is an error. */
export function pathsOf(...patterns: readonly string[]): readonly string[] {
  const exclude = (name: string): boolean => notOurs.has(name.split('/').at(-1) ?? name)
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root, exclude }))
  if (paths.length === 0) throw new Error(`No file matches ${patterns.join(', ')}`)
  return [...new Set(paths)].sort()
}

export const readOne = (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), 'utf8') })

export const isTest = ({ path }: SourceFile): boolean => path.endsWith('.test.ts')

/** One finding for each match, as `path:line: what is wrong`. */
export function findAll({ path, text }: SourceFile, pattern: RegExp, wrong: string): string[] {
  return [...text.matchAll(pattern)].map((match) => `${path}:${lineOf(text, match.index)}: ${wrong}`)
}

export const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length
