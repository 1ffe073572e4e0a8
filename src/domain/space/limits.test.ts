import { describe, expect, it } from 'vitest'
import { resolveConfig } from '../config/config.ts'
import { parseLabelLimits, spaceLimitsOf } from './limits.ts'

describe('limits on labels', () => {
  it('are a list of label, value and megabytes', () => {
    expect(parseLabelLimits('')).toEqual([])
    expect(parseLabelLimits('team=web:5000, user=a b:c=d:20000 ,x= :1')).toEqual([
      { label: 'team', value: 'web', mb: 5000 },
      { label: 'user', value: 'a b:c=d', mb: 20_000 },
      { label: 'x', value: '', mb: 1 },
    ])
  })

  it.each([
    'team=web',
    'team:5',
    'team=web:5k',
    'team=web:0',
    '=web:5',
    'team=web:5,',
    'team=web:5, team=web:6',
    'é=x:1',
  ])('are not %s', (text) => {
    expect(parseLabelLimits(text)).toBeUndefined()
    expect(() => resolveConfig({ set: { 'space.per_label': text } })).toThrow(
      expect.objectContaining({ code: 'invalid_config', data: { key: 'space.per_label', origin: 'flag' } }),
    )
  })

  it('come with the other limits from the settings, none by default', () => {
    expect(spaceLimitsOf(resolveConfig({}).settings)).toEqual({ perLabel: [] })
    const set = { 'space.budget_mb': '9', 'space.per_repo_mb': '8', 'space.per_label': 'team=web:7' }
    expect(spaceLimitsOf(resolveConfig({ set }).settings)).toEqual({
      storeMb: 9,
      perRepositoryMb: 8,
      perLabel: [{ label: 'team', value: 'web', mb: 7 }],
    })
  })
})
