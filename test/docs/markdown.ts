/** Reads what the documents show: code blocks, commands and links. */

export interface Block {
  readonly language: string
  readonly text: string
}

export const blocksOf = (markdown: string): readonly Block[] =>
  [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }))

const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** Texts between single backticks. */
export const inlineCodeOf = (markdown: string): readonly string[] =>
  [...withoutBlocks(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)

export interface FileLink {
  readonly file: string
  /** What follows the `#`; empty without one. */
  readonly fragment: string
}

/** Links to files of this project. */
export const fileLinksOf = (markdown: string): readonly FileLink[] =>
  [...withoutBlocks(markdown).matchAll(/\]\(([^)\s#]+)(?:#([^)\s]*))?\)/g)]
    .map(([, file = '', fragment = '']) => ({ file, fragment }))
    .filter(({ file }) => !/^https?:/.test(file))

/** What a fragment can name: headings, as they are written in addresses, and marks. */
export const anchorsOf = (markdown: string): readonly string[] => [
  ...[...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading)),
  ...[...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, mark = '']) => mark),
]

const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

export interface Step {
  readonly command: string
  readonly output: string
}

/** A `console` block: each `$ command` with what it printed. */
export const stepsOf = (session: string): readonly Step[] =>
  session
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...output] = step.split('\n')
      return { command, output: output.join('\n').trimEnd() }
    })

/** The words of each call of `aw` in a piece of shell, also inside `$(…)`. Knows quotes, not variables. */
export function awCallsIn(shell: string): readonly (readonly string[])[] {
  const inner: string[] = []
  const outer = shell.replaceAll(/[$<]\(([^()]*)\)/g, (_, command: string) => {
    inner.push(command)
    return 'substituted'
  })
  const calls = commandsIn(outer).flatMap((words) => (words[0] === 'aw' ? [words.slice(1)] : []))
  return [...calls, ...inner.flatMap(awCallsIn)]
}

/** A quoted part, a plain part, white space, a comment, a redirection, or the end of a command. */
const token = /'([^']*)'|"([^"]*)"|([^\s'"|;&()<>]+)|([ \t]+)|(\d?[<>]+&?\s*[^\s|;&()]*)|([|;&()\n]+)/gy

function commandsIn(shell: string): string[][] {
  const commands: string[][] = [[]]
  let open = false
  for (const [, single, double, plain, space, redirection, end] of shell
    .replaceAll(/(^|\s)#.*$/gm, '')
    .matchAll(token)) {
    const part = single ?? double ?? plain
    const words = commands.at(-1) ?? []
    if (part !== undefined) {
      words.push((open ? (words.pop() ?? '') : '') + part)
      open = true
    }
    if (space !== undefined || redirection !== undefined || end !== undefined) open = false
    if (end !== undefined) commands.push([])
  }
  return commands
}
