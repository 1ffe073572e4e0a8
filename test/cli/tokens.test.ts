import { expect, test } from 'vitest'
import { startDaemon } from '../daemon/daemon.ts'
import { place, type Ran } from './built-command.ts'

const json = ({ stdout }: Ran): Record<string, string> => JSON.parse(stdout) as Record<string, string>

test('a token through the command: once, and nowhere on the disk', () => {
  using here = place()
  here.aw('create', 'x')
  const made = json(here.aw('token', 'create', '--workspace', 'x', '--expires', '1h', '--json'))
  expect(made['token']).toMatch(/^aw_[\w-]{43}$/)
  const rotated = here.aw('token', 'rotate', made['id'] ?? '', '--quiet').stdout.trim()
  expect(rotated).toMatch(/^aw_[\w-]{43}$/)
  for (const secret of [made['token'] ?? '', rotated]) {
    expect(here.sh(`grep -rlF -e '${secret}' home; echo over`).stdout).toBe('over\n')
    const refused = here.aw('token', 'revoke', secret)
    expect(refused.code).toBe(3)
    expect(refused.stderr).not.toContain(secret)
  }
  expect(here.aw('token', 'create', '--workspace', 'x', '--scope', 'admin').code).toBe(2)
  expect(here.aw('token', 'create').code).toBe(2)
  here.aw('destroy', 'x')
  expect(here.aw('token', 'list', '--state', 'active').stdout).toBe('')
  expect(here.aw('token', 'list', '-q').stdout.trim().split('\n')).toHaveLength(2)
})

test.each(['alone', 'through a daemon'])('the command writes under a lease, %s', async (how) => {
  using here = place()
  await using daemon = how === 'alone' ? undefined : startDaemon({ at: here })
  here.aw('create', 'x')
  const lease = json(here.aw('lease', 'acquire', 'x', '--holder', 'ci', '--json'))['id'] ?? ''
  expect(here.awWith('one', 'fs', 'write', 'x', 'work/a', '--lease', lease).code).toBe(0)
  here.env['AW_LEASE'] = lease
  expect(here.awWith('two', 'fs', 'write', 'x', 'work/a').code).toBe(0)
  expect(here.aw('exec', 'x', '--', 'true').code).toBe(0)
  // Its holder does not stand in its own way; others do.
  expect(here.aw('reset', 'x').code).toBe(0)
  here.env['AW_LEASE'] = ''
  expect(here.aw('reset', 'x').code).toBe(9)
  expect(here.aw('lease', 'release', 'x', lease).code).toBe(0)
  here.env['AW_LEASE'] = lease
  const late = here.awWith('three', '--json', 'fs', 'write', 'x', 'work/a')
  expect([late.code, JSON.parse(late.stderr)]).toMatchObject([9, { code: 'lease_lost' }])
  expect(here.aw('--json', 'snapshot', 'x').stderr).toContain('lease_lost')
  expect(here.aw('exec', 'x', '--', 'true').code).toBe(125)
  expect(here.aw('show', 'x').code).toBe(0)
  const other = json(here.aw('lease', 'acquire', 'x', '--holder', 'ann', '--json'))['id'] ?? ''
  expect(here.aw('--lease', other, 'snapshot', 'x').code).toBe(0)
  expect(here.aw('--lease', 'mine', 'snapshot', 'x')).toMatchObject({ code: 2 })
  if (daemon !== undefined) expect(here.sh('cat "$AW_HOME/daemon.log"').stdout).toContain('"operation":"snapshot"')
})

test('a workspace is adopted through the command', () => {
  using here = place()
  here.aw('create', 'x')
  expect(here.aw('lease', 'acquire', 'x', '--holder', 'ci').code).toBe(0)
  expect(here.aw('show', 'x').stdout).toContain('leased by\tci')
  expect(here.aw('adopt', 'x', '--holder', 'ann')).toMatchObject({ code: 9 })
  expect(here.aw('adopt', 'x', '--holder', 'ann', '--force').stderr).toContain('last active')
  const forced = here.aw('--set', 'leases.force_after_seconds=0', 'adopt', 'x', '--holder', 'ann', '--force', '--json')
  expect(json(forced)).toMatchObject({ holder: 'ann', adopted_from: 'ci' })
})
