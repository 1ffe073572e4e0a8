/** The page about the network lists what the code has. */
import { expect, test } from 'vitest'
import { presets } from '../../../src/domain/network/presets.ts'
import { parseRules } from '../../../src/domain/network/rules.ts'
import { defaultLimits } from '../../../src/drivers/sandbox/proxy/limits.ts'
import { reasons } from '../../../src/drivers/sandbox/proxy/reasons.ts'
import { readOne } from '../../rules/source-tree.ts'

const { text } = readOne('docs/guides/network.md')
const rowsOf = (heading: string): string[][] => {
  const part =
    text
      .slice(text.indexOf(heading))
      .split('\n\n')
      .find((block) => block.startsWith('| ')) ?? ''
  return part
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    )
}

test('every preset, with its hosts', () => {
  const expected = Object.entries(presets).map(([name, { for: use, hosts }]) => [
    `\`${name}\``,
    use,
    hosts.map((host) => `\`${host}\``).join(', '),
  ])
  expect(rowsOf('## Presets')).toEqual(expected)
})

test('the rules that it shows are rules', () => {
  const shown = rowsOf('## Rules').flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, rule = '']) => rule),
  )
  expect(shown.length).toBeGreaterThan(7)
  for (const rule of shown) expect(parseRules([rule])).not.toEqual([])
})

test('the reasons that it explains are those that are given, and the limits those that are kept', () => {
  const named = rowsOf('| Reason |').map(([cell = '']) => cell.replaceAll('`', ''))
  expect(named.filter((reason) => !(reason in reasons))).toEqual([])
  const refusing = Object.entries(reasons).filter(([, status]) => status === 403)
  expect(named).toEqual(expect.arrayContaining(refusing.map(([reason]) => reason)))
  const ofBrokers = rowsOf('## Brokers').flatMap(([cell = '']) => cell.replaceAll('`', '').split(', '))
  expect(ofBrokers.length).toBeGreaterThan(5)
  expect(ofBrokers.filter((reason) => !(reason in reasons))).toEqual([])
  expect(text).toContain(`silent for ${defaultLimits.idle_ms / 60_000} minutes`)
  expect(text).toContain(`more than ${defaultLimits.requests} requests`)
  expect(text).toContain(`reached ${defaultLimits.log_bytes / 1024 / 1024} MiB`)
})
