import fc from 'fast-check'
import { expect, test } from 'vitest'
import { portBase, slotCount, slugOf, workspaceVariables } from './variables.ts'

const names = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/)

test('a slug can be a host name, and no two workspaces share one', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(names, names), { maxLength: 20, selector: (pair) => pair.join('/') }),
      (all) => {
        const slugs = all.map(([task, agent]) => slugOf({ task, agent }))
        for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
        expect(new Set(slugs).size).toBe(slugs.length)
      },
    ),
  )
})

test('plain names make plain slugs, and those that could be mistaken are marked', () => {
  expect(slugOf({ task: 'web', agent: 'main' })).toBe('web-main')
  expect(slugOf({ task: 'a-b', agent: 'c' })).not.toBe(slugOf({ task: 'a', agent: 'b-c' }))
})

test('blocks of ports do not overlap and end before the ports of the kernel', () => {
  const blocks = { first: 10_000, count: 10 }
  const last = slotCount(blocks) - 1
  expect(portBase(1, blocks)).toBe(portBase(0, blocks) + 10)
  expect(portBase(last, blocks) + 9).toBeLessThan(32_768)
  expect(workspaceVariables({ task: 'web', agent: 'main' }, 2, blocks)).toEqual({
    AW_WORKSPACE: 'web/main',
    AW_TASK: 'web',
    AW_AGENT: 'main',
    AW_SLUG: 'web-main',
    AW_PORT_BASE: '10020',
  })
  expect(slotCount({ first: 10_000, count: 0 })).toBe(0)
})
