/** Reads the imports of a module without a parser: the format check makes their shape predictable. */
import { lineOf, type SourceFile } from './source-tree.ts'

export interface Import {
  readonly specifier: string
  readonly names: readonly string[]
  readonly line: number
  /** `static` is loaded with the module, `lazy` when it is called for, `type` never. */
  readonly kind: 'static' | 'lazy' | 'type'
}

const comments = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)/gm
const braces = String.raw`\{[^}]*\}`
const clause = String.raw`\*(?:\s+as\s+\w+)?|${braces}|\w+(?:\s*,\s*(?:${braces}|\*\s+as\s+\w+))?`
const declaration = new RegExp(String.raw`^(?:import|export)\s+(type\s+)?(${clause})\s*from\s*'([^']+)'`, 'gm')
const bare = /^import\s*'([^']+)'/gm
const call = /(\btypeof\s+)?\b(?:import|require)\(\s*'([^']+)'\s*\)/g

export function importsOf(file: SourceFile): readonly Import[] {
  const text = file.text.replaceAll(comments, (comment) => comment.replaceAll(/[^\n]/g, ' '))
  const line = (match: RegExpExecArray): number => lineOf(text, match.index)
  return [
    ...[...text.matchAll(declaration)].map((match): Import => {
      const names = namesIn(match[2] ?? '')
      const isType = match[1] !== undefined || (names.length > 0 && names.every((name) => name.startsWith('type ')))
      return { specifier: match[3] ?? '', names, line: line(match), kind: isType ? 'type' : 'static' }
    }),
    ...[...text.matchAll(bare)].map((match): Import => ({
      specifier: match[1] ?? '',
      names: [],
      line: line(match),
      kind: 'static',
    })),
    ...[...text.matchAll(call)].map((match): Import => ({
      specifier: match[2] ?? '',
      names: [],
      line: line(match),
      kind: match[1] === undefined ? 'lazy' : 'type',
    })),
  ]
}

/** The names between the braces as they are written, `type` included; of a whole module the star and its name. */
function namesIn(clause: string): readonly string[] {
  if (clause.startsWith('*')) return [clause]
  const inside = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  return inside
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
