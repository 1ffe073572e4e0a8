/** The published table of attacks, docs/guides/walls.md. `node test/sandbox/escape/walls-page.ts` writes it anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { inRoot } from '../../../tools/root.ts'
import type { Attack, Expected } from './attack.ts'
import { attacks } from './corpus.ts'

export const wallsFile = inRoot('docs/guides/walls.md')

const [begin, end] = [
  '<!-- attacks: made from test/escape, by node test/sandbox/escape/walls-page.ts -->',
  '<!-- end of attacks -->',
]

/** The page as it has to be: what is written around the table stays. */
export function wallsPage(text: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${wallsFile} has no place for the table`)
  return `${text.slice(0, from)}${begin}\n\n${tables()}\n\n${text.slice(to)}`
}

function tables(): string {
  const kinds = [...new Set(attacks.map(({ kind }) => kind))]
  return kinds
    .map((kind) =>
      table(
        kind,
        attacks.filter((attack) => attack.kind === kind),
      ),
    )
    .join('\n\n')
}

const table = (kind: string, rows: readonly Attack[]): string =>
  [
    `### ${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    '',
    '| an attack that … | without walls | `none` | `guarded` | `namespace` | |',
    '|---|---|---|---|---|---|',
    ...rows.map(row),
  ].join('\n')

function row({ does, plainly, note, expected: { none, guarded, namespace } }: Attack): string {
  const why = [plainly === undefined ? undefined : `without walls: ${plainly}`, note].filter(Boolean).join('; ')
  const cells = [does, plainly === undefined ? 'succeeds' : 'fails', cell(none), cell(guarded), cell(namespace), why]
  return `| ${cells.join(' | ')} |`
}

const cell = (expected: Expected): string =>
  typeof expected === 'string' ? said[expected] : `${said[expected.user]}; root: ${said[expected.root]}`

const said = { held: 'held', 'not held': '**not held**', refused: 'refused' }

if (import.meta.main) writeFileSync(wallsFile, wallsPage(readFileSync(wallsFile, 'utf8')))
