import { describe, expect, it } from 'vitest'
import { configKeys, environmentVariableOf, resolveConfig } from './config.ts'
import { readWorkspaceConfig } from '../sources/creation.ts'
import { parseDuration } from '../text/duration.ts'
import { nearest } from '../text/nearest.ts'

const failure = (code: string, about: Record<string, unknown> = {}) =>
  expect.objectContaining({ code, ...about }) as Error

describe('settings', () => {
  it('have documented defaults', () => {
    const { settings, origins } = resolveConfig({})
    expect(settings['trash.retention_days']).toBe(7)
    expect(settings['workspaces.max_size_mb']).toBe(1000)
    expect(settings['shutdown.policy']).toBe('keep')
    expect(settings['shutdown.timeout_ms']).toBe(5000)
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']))
    for (const { about } of Object.values(configKeys)) expect(about).not.toBe('')
  })

  it('come from the file, then the environment, then flags', () => {
    const { settings, origins } = resolveConfig({
      file: { trash: { retention_days: 1 }, git: { enabled: true }, workspaces: { profile: 'ipa' } },
      env: { AW_TRASH_RETENTION_DAYS: '2', AW_GIT_ENABLED: 'false', AW_HOME: '/elsewhere' },
      set: { 'trash.retention_days': '3' },
    })
    expect(settings).toMatchObject({ 'trash.retention_days': 3, 'git.enabled': false, 'workspaces.profile': 'ipa' })
    expect(origins).toMatchObject({
      'trash.retention_days': 'flag',
      'git.enabled': 'environment',
      'workspaces.profile': 'file',
      'space.min_free_mb': 'default',
    })
  })

  it('read modes in octal and refuse one that locks its owner out', () => {
    expect(resolveConfig({ set: { 'workspaces.file_mode': '0600' } }).settings['workspaces.file_mode']).toBe(0o600)
    expect(resolveConfig({ file: { workspaces: { dir_mode: 0o700 } } }).settings['workspaces.dir_mode']).toBe(0o700)
    expect(() => resolveConfig({ set: { 'workspaces.file_mode': '044' } })).toThrow(failure('invalid_config'))
    for (const mode of ['0600', '0500', '0300', '044'])
      expect(() => resolveConfig({ set: { 'workspaces.dir_mode': mode } })).toThrow(/enter \(0700\)/)
  })

  it('refuse a time that no timer waits for: it would be over at once', () => {
    const keys = Object.keys(configKeys).filter((key) => key.endsWith('_ms'))
    expect(keys.length).toBeGreaterThan(5)
    for (const key of keys) {
      expect(resolveConfig({ set: { [key]: '2147483647' } }).settings).toMatchObject({ [key]: 2 ** 31 - 1 })
      expect(() => resolveConfig({ set: { [key]: '2147483648' } })).toThrow(/24 days/)
    }
  })

  it('refuse an unknown key and name the nearest', () => {
    const hint = 'Did you mean trash.retention_days?'
    const file = { trash: { retention_day: 1 } }
    expect(() => resolveConfig({ file })).toThrow(failure('invalid_config', { hint }))
    expect(() => resolveConfig({ set: { nonsense: '1' } })).toThrow(failure('invalid_config'))
    expect(() => resolveConfig({ file: { __proto__x: 1 } })).toThrow(failure('invalid_config'))
  })

  it.each([
    ['AW_TRASH_RETENTION_DAY', 'AW_TRASH_RETENTION_DAYS'],
    ['AW_WORKSPACE_PROFILE', 'AW_WORKSPACES_PROFILE'],
    ['AW_WORKSPACES_BASEPATH', 'AW_WORKSPACES_BASE_PATH'],
    ['AW_HMOE', 'AW_HOME'],
    ['AW_CONFG', 'AW_CONFIG'],
  ])('refuse the variable %s and name %s', (name, meant) => {
    const hint = `Did you mean ${meant}?`
    expect(() => resolveConfig({ env: { [name]: '1' } })).toThrow(failure('invalid_config', { hint }))
  })

  it('refuse a variable with the prefix of a section, and let the others through', () => {
    expect(() => resolveConfig({ env: { AW_LOG_COLOURFULNESS: '1' } })).toThrow(failure('invalid_config'))
    const others = ['AW_HOME', 'AW_CONFIG', 'AW_RESOLVER', 'AW_NATIVE', 'AW_DEBUG', 'AW_CRASH_AT', 'AW_BENCH_DIR']
    const given = [
      'AW_WORKSPACE',
      'AW_TASK',
      'AW_AGENT',
      'AW_SLUG',
      'AW_PORT_BASE',
      'AW_RACE_ATTEMPTS',
      'AW_SEED',
      'AW_RUNS',
    ]
    const foreign = ['AW_ROLE', 'AW_WORKSPACE_ID', 'AW_SOMETHING_OF_YOURS', 'LAW_LOG_X', 'AW']
    const env = Object.fromEntries([...others, ...given, ...foreign].map((name) => [name, 'x']))
    expect(resolveConfig({ env: { ...env, AW_LOG_UNSET: undefined } }).settings['git.enabled']).toBe(false)
  })

  it.each([
    ['trash.retention_days', '-1'],
    ['trash.retention_days', '1.5'],
    ['trash.retention_days', ''],
    ['trash.retention_days', 'week'],
    ['git.enabled', 'yes'],
    ['workspaces.profile', 'IPA'],
    ['shutdown.policy', 'delete'],
    ['workspaces.base_path', 'a\0b'],
  ])('refuse %s = %j', (key, value) => {
    expect(() => resolveConfig({ set: { [key]: value } })).toThrow(failure('invalid_config'))
  })

  it('have a variable each', () => {
    const variables = Object.keys(configKeys).map(environmentVariableOf)
    expect(new Set(variables).size).toBe(variables.length)
    expect(variables).toContain('AW_WORKSPACES_BASE_PATH')
  })
})

describe('the configuration of a workspace', () => {
  const { settings } = resolveConfig({})

  it('names a template that can be', () => {
    for (const value of ['', 'web', 'web-app@2'])
      expect(resolveConfig({ set: { 'workspaces.template': value } }).settings['workspaces.template']).toBe(value)
    for (const value of ['Web', 'web@', 'web@x', 'web@0', 'a/b', '../x', 'web@1@2'])
      expect(() => resolveConfig({ set: { 'workspaces.template': value } })).toThrow(failure('invalid_config'))
  })

  it('is completed from the settings', () => {
    const { config, documents } = readWorkspaceConfig({ git_config: { enabled: true } }, settings)
    expect(config).toEqual({
      max_size_mb: 1000,
      allowed_operations: ['read', 'write', 'execute'],
      git_config: { enabled: true, user_name: 'aw agent', user_email: 'agent@aw.invalid' },
    })
    expect(Object.values(documents).every((value) => value === undefined)).toBe(true)
  })

  it('sets texts apart, so that they do not reach the log', () => {
    const given = { claude_md: '# Secret plan', task_spec: { goal: 'x' }, task_id: 'ignored', created_at: 'ignored' }
    const { config, documents } = readWorkspaceConfig(given, settings)
    expect(JSON.stringify(config)).not.toContain('Secret')
    expect(documents).toMatchObject({ claude_md: '# Secret plan', task_spec: { goal: 'x' } })
  })

  it.each([[{ allowed_operations: ['fly'] }], [{ agent_file_names: ['../x'] }], [{ claude_md: 'a\0b' }]])(
    'refuses %j',
    (config) => {
      expect(() => readWorkspaceConfig(config, settings)).toThrow(failure('invalid_input'))
    },
  )
})

describe('small words', () => {
  it('reads lengths of time', () => {
    expect(parseDuration('90s', 'x')).toBe(90_000)
    expect(parseDuration('7d', 'x')).toBe(604_800_000)
    expect(parseDuration('0s', 'x')).toBe(0)
    for (const bad of ['', '7', 'd', '-1d', '1.5h', '1 d', '1y', '9999999999s']) {
      expect(() => parseDuration(bad, 'x')).toThrow(failure('invalid_input'))
    }
  })

  it('finds what was meant', () => {
    expect(nearest('detsroy', ['create', 'destroy', 'list'])).toBe('destroy')
    expect(nearest('LIST', ['create', 'list'])).toBe('list')
    expect(nearest('frobnicate', ['create', 'list'])).toBeUndefined()
  })
})
