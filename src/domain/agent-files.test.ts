import { describe, expect, it } from 'vitest'
import { compose, inject } from './agent-files.ts'

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
    const first = inject('# Mine\nkeep me', 'ours')
    expect(first.startsWith('# Mine\nkeep me\n')).toBe(true)
    expect(first).toContain('\nours\n')
    const second = inject(first, 'newer')
    expect(second).toContain('keep me')
    expect(second).toContain('newer')
    expect(second).not.toContain('ours')
    expect(inject(second, 'newer')).toBe(second)
  })

  it('keep what was added after the block', () => {
    const edited = `${inject('', 'ours')}\nadded by hand\n`
    expect(inject(edited, 'next')).toContain('added by hand')
  })
})
