import { expect, test } from 'vitest'
import { paint } from '../output/color.ts'
import { columns, type Row } from './columns.ts'

const head: Row = ['NAME', { text: 'SANDBOX', spare: 1 }, { text: 'STATE', spare: 2 }, 'WHAT']
const rows: Row[] = [['fix-login/main', 'namespace', 'running', 'Mend the login form and its tests']]

const at = (width: number): string[] =>
  columns(head, rows, {
    paint: paint(false),
    terminal: true,
    columns: width,
    quiet: false,
    now: 0,
    input: {},
    told: new Set(),
  }).split('\n')

test('a narrow terminal gets fewer columns, the least needed go first, and no line wraps', () => {
  expect(at(100)[1]).toBe('fix-login/main  namespace  running  Mend the login form and its tests')
  expect(at(52)[1]).toBe('fix-login/main  namespace  running  Mend the login …')
  expect(at(51)).toEqual(['NAME            STATE    WHAT', 'fix-login/main  running  Mend the login form and i…'])
  expect(at(40)[1]).toBe('fix-login/main  Mend the login form and…')
})
