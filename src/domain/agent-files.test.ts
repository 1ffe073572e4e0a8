import { describe, expect, it } from 'vitest'
import { compose, inject } from './agent-files.ts'

const injected = (existing: string, text: string): string => inject(Buffer.from(existing), text).toString()

describe('agent files', () => {
  it('are composed of blocks in a fixed order, others after them', () => {
    const blocks = { zebra: 'last', git_workflow: 'commit', workspace_rules: 'rules', apple: 'almost' }
    expect(compose({ blocks, variables: {} }, {})).toBe('rules\n\ncommit\n\nalmost\n\nlast')
  })

  it('fill in variables, the given ones first, and once only', () => {
    const blocks = { task_context: 'You are {{ agent }} on {{task}}: {{goal}}' }
    const text = compose({ blocks, variables: { goal: '{{task}}', agent: 'bob' } }, { task: 't', agent: 'a' })
    expect(text).toBe('You are bob on t: {{task}}')
  })

  it('say which variable is missing', () => {
    const files = { blocks: { task_context: 'Hello {{nobody}}' }, variables: {} }
    expect(() => compose(files, { task: 't' })).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        data: expect.objectContaining({ variable: 'nobody' }) as object,
      }) as Error,
    )
  })

  it('are one block between markers, which replaces nothing that was there', () => {
    const first = injected('# Mine\nkeep me', 'ours')
    expect(first.startsWith('# Mine\nkeep me\n')).toBe(true)
    expect(first).toContain('\nours\n')
    const second = injected(first, 'newer')
    expect(second).toContain('keep me')
    expect(second).toContain('newer')
    expect(second).not.toContain('ours')
    expect(injected(second, 'newer')).toBe(second)
  })

  it('keep what was added after the block', () => {
    const edited = `${injected('', 'ours')}\nadded by hand\n`
    expect(injected(edited, 'next')).toContain('added by hand')
  })

  it('need not be text', () => {
    const bytes = Buffer.from([0xff, 0x0a, 0xc3])
    const first = inject(bytes, 'ends with à')
    expect(first.subarray(0, 3).equals(bytes)).toBe(true)
    expect(first.toString()).toContain('ends with à\n')
    expect(inject(first, 'newer').subarray(0, 3).equals(bytes)).toBe(true)
  })
})
