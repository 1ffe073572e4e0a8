import type { Paint } from './color.ts'

/** What a page of text is set for. */
export interface Page {
  readonly paint: Paint
  readonly width: number
}

/** Two columns, the second wrapped below itself. */
export function rows(entries: readonly (readonly [string, string])[], page: Page, least = 0): string {
  const width = Math.max(least, ...entries.map(([left]) => left.length).filter((length) => length <= widest))
  return entries
    .map(([left, right]) => {
      const [first = '', ...rest] = wrap(right, page.width - width - 4)
      const more = rest.map((line) => `${' '.repeat(width + 4)}${line}`)
      const head = page.paint.cyan(left) + ' '.repeat(Math.max(0, width - left.length))
      const own =
        left.length > width ? [`  ${head}`, `${' '.repeat(width + 4)}${first}`] : [`  ${head}  ${first}`.trimEnd()]
      return [...own, ...more].join('\n')
    })
    .join('\n')
}

/** A left side longer than this gets a line to itself. */
const widest = 34

export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
