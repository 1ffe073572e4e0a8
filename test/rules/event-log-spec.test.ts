import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { specFile, withGeneratedParts } from '../../tools/event-log-spec.ts'

it('docs/spec/event-log.md has the tables and the events of the code (else: node tools/event-log-spec.ts)', () => {
  const page = readFileSync(specFile, 'utf8')
  expect(page).toBe(withGeneratedParts(page))
})
