import { compileGlob, type Glob } from './glob.ts'

/** A list of patterns as in a `.gitignore`. Texts and paths are bytes, one character each (latin1). */
export interface IgnoreRules {
  /**
   * What the last pattern that fits says: true to leave it out, false (with `!`) to have it all the same; undefined if
   * none fits. The path is from the directory that the list is for. What is in a directory that is left out is so too,
   * whatever the patterns say: the caller does not go into it.
   */
  readonly verdict: (path: string, isDirectory: boolean) => boolean | undefined
  /** Whether a pattern could leave out something below this directory. */
  readonly mayConcern: (directory: string) => boolean
}

interface Rule {
  readonly leavesOut: boolean
  readonly onlyDirectories: boolean
  /** For the name alone, wherever it is; else for the path, behind these characters, which have to be the same. */
  readonly start: string | undefined
  readonly glob: Glob
}

const none: IgnoreRules = { verdict: () => undefined, mayConcern: () => false }

/** Of a file's text. */
export const parseIgnoreFile = (text: string): IgnoreRules =>
  rulesOf(
    (text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text)
      .split('\n')
      .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)),
  )

/** Of patterns as a user gives them, each what could be a line of a file. */
export const ignoreRules = (patterns: readonly string[]): IgnoreRules =>
  rulesOf(patterns.map((pattern) => Buffer.from(pattern).toString('latin1')))

function rulesOf(lines: readonly string[]): IgnoreRules {
  // The last one that fits decides, so it is the first one to be asked.
  const rules = lines
    .map(parseLine)
    .filter((rule) => rule !== undefined)
    .toReversed()
  if (rules.length === 0) return none
  return {
    verdict(path, isDirectory) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      for (const { leavesOut, onlyDirectories, start, glob } of rules) {
        if (onlyDirectories && !isDirectory) continue
        if (start === undefined ? glob.matches(name) : path.startsWith(start) && glob.matches(path.slice(start.length)))
          return leavesOut
      }
      return undefined
    },
    mayConcern: (directory) => rules.some((rule) => rule.leavesOut && mayFitBelow(rule, `${directory}/`)),
  }
}

function mayFitBelow({ start, glob }: Rule, beginning: string): boolean {
  if (start === undefined || start.startsWith(beginning)) return true
  return beginning.startsWith(start) && glob.mayGoOn(beginning.slice(start.length))
}

/** Undefined for a comment and an empty line. */
function parseLine(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined
  const text = withoutBlanks(line.split('\0', 1)[0] ?? '')
  const leavesOut = !text.startsWith('!')
  const whole = leavesOut ? text : text.slice(1)
  const onlyDirectories = whole.endsWith('/')
  const pattern = onlyDirectories ? whole.slice(0, -1) : whole
  if (pattern === '') return undefined
  const name = pattern.startsWith('**/') ? pattern.slice(3) : pattern
  if (!name.includes('/')) return { leavesOut, onlyDirectories, start: undefined, glob: compileGlob(name, false) }
  const anchored = pattern.startsWith('/') ? pattern.slice(1) : pattern
  // Git compares these first and takes what is left for the pattern: so `a**/b` has its stars at the beginning.
  const start = anchored.slice(0, anchored.search(/[*?[\\]|$/))
  return { leavesOut, onlyDirectories, start, glob: compileGlob(anchored.slice(start.length), true) }
}

/** Without the blanks at its end, if they are not written with a backslash. */
function withoutBlanks(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ' && !isEscaped(line, end - 1)) end -= 1
  return line.slice(0, end)
}

function isEscaped(line: string, at: number): boolean {
  let first = at
  while (line[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}
