import { describe, expect, it } from 'vitest'
import { blocksFor, composeAgentText, inject, injectReplacingAll, withoutBlocks } from './agent-files.ts'

const known = (...texts: string[]) => texts.flatMap((text) => blocksFor(text, ['CLAUDE.md']))
const injected = (existing: string | null, text: string, ...texts: string[]): string =>
  inject(existing === null ? null : Buffer.from(existing), text, known(...texts)).toString()

describe('agent files', () => {
  it('are composed of blocks in a fixed order, others after them', () => {
    const blocks = { zebra: 'last', git_workflow: 'commit', workspace_rules: 'rules', apple: 'almost' }
    expect(composeAgentText({ blocks, variables: {} }, {})).toBe('rules\n\ncommit\n\nalmost\n\nlast')
  })

  it('fill in variables, the given ones first, and once only', () => {
    const blocks = { task_context: 'You are {{ agent }} on {{task}}: {{goal}}' }
    const text = composeAgentText({ blocks, variables: { goal: '{{task}}', agent: 'bob' } }, { task: 't', agent: 'a' })
    expect(text).toBe('You are bob on t: {{task}}')
  })

  it('say which variable is missing', () => {
    const files = { blocks: { task_context: 'Hello {{nobody}}' }, variables: {} }
    expect(() => composeAgentText(files, { task: 't' })).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        data: expect.objectContaining({ variable: 'nobody' }) as object,
      }) as Error,
    )
  })

  it('are one block between markers, which replaces nothing but a block that is known', () => {
    const first = injected('# Mine\nkeep me', 'ours')
    expect(first.startsWith('# Mine\nkeep me\n')).toBe(true)
    expect(first).toContain('\nours\n')
    const second = injected(first, 'newer', 'ours')
    expect(second).toContain('keep me')
    expect(second).toContain('newer')
    expect(second).not.toContain('ours')
    expect(injected(second, 'newer', 'newer')).toBe(second)
    expect(injected(first, 'newer', 'other')).toContain('ours')
  })

  it('keep what was added after the block', () => {
    const edited = `${injected(null, 'ours')}\nadded by hand\n`
    expect(injected(edited, 'next', 'ours')).toContain('added by hand')
  })

  it.each([
    ['nothing', null],
    ['an empty file', ''],
    ['a line', 'a\n'],
    ['a line without an end', 'a'],
    ['empty lines', '\n\n'],
    ['a block of somebody else', injected('a', 'theirs')],
    ['the beginning of one', injected('a', 'theirs').slice(0, -5)],
  ])('give back %s', (_, existing) => {
    const { rest, blocks: found } = withoutBlocks(Buffer.from(injected(existing, 'ours')), known('old', 'ours'))
    expect([rest?.toString() ?? null, found]).toEqual([existing, 1])
  })

  it('are left where somebody has changed the block', () => {
    const edited = Buffer.from(injected('a', 'ours').replace('ours', 'theirs'))
    expect(withoutBlocks(edited, known('ours'))).toEqual({ rest: edited, blocks: 0 })
  })

  it('give back what was written around the block', () => {
    const edited = Buffer.from(`before\n\n${injected(null, 'ours')}after\n`)
    expect(withoutBlocks(edited, known('ours')).rest?.toString()).toBe('before\nafter\n')
  })

  it('hold nothing that could be taken for the end of one, or its beginning', () => {
    const text = `above\n${injected(null, 'theirs')}below`
    const once = injected('a\n', text)
    expect(withoutBlocks(Buffer.from(once), known(text)).rest?.toString()).toBe('a\n')
    const alone = injectReplacingAll(null, text)
    expect(injectReplacingAll(alone, text).equals(alone)).toBe(true)
  })

  it('are found where somebody has written a beginning before them', () => {
    const [beginning = ''] = injected(null, 'ours').split('\n')
    const edited = Buffer.from(`${beginning}\n${injected('a', 'ours')}`)
    expect(withoutBlocks(edited, known('ours')).rest?.toString()).toBe(`${beginning}\na`)
  })

  it('may be many, or only seem to be', () => {
    const [beginning = '', , ending = ''] = injected(null, 'ours').split('\n')
    const seeming = `${`${beginning}\n`.repeat(12_000)}${`${ending}\n`.repeat(12_000)}`
    const ours = injected(null, 'ours').repeat(8_000)
    const content = Buffer.from(`${ours}${seeming}`)
    expect(content.length).toBeGreaterThan(2 ** 20)
    const { rest, blocks: found } = withoutBlocks(content, known('ours'))
    expect([rest?.equals(Buffer.from(seeming)), found]).toEqual([true, 8_000])
    expect(injectReplacingAll(content, 'ours').toString()).toContain(`${beginning}\n${beginning}`)
  })

  it('need not be text', () => {
    const bytes = Buffer.from([0xff, 0x0a, 0xc3])
    const first = inject(bytes, 'ends with à')
    expect(first.subarray(0, 3).equals(bytes)).toBe(true)
    expect(first.toString()).toContain('ends with à\n')
    expect(withoutBlocks(first, known('ends with à')).rest?.equals(bytes)).toBe(true)
  })
})
