import { expect, test } from 'vitest'
import { runCli, shown } from '../../../../test/support/cli.ts'

const token = {
  id: 'tok_1',
  label: 'viewer',
  scopes: ['read', 'fs:read'],
  workspaces: ['ws_1', 'docs-*/*'],
  state: 'active',
  created_at: '2029-12-31T22:00:00.000Z',
  created_by: 'user:0',
  expires_at: null,
  replaces: null,
  revoked: null,
}
const made = { ...token, token: 'aw_secret' }

test('a token is shown once, with what it allows; alone if that is all that is wanted', async () => {
  const args = [
    'token',
    'create',
    '--scope',
    'read',
    '--scope',
    'fs:read',
    '--workspace',
    'ws_1',
    '--workspace',
    'docs-*/*',
  ]
  const { stdout, stderr, calls } = await shown([...args, '--label', 'viewer', '--expires', '12h'], made)
  expect(calls[0]?.input).toEqual({
    scopes: ['read', 'fs:read'],
    workspaces: ['ws_1', 'docs-*/*'],
    label: 'viewer',
    expires: '12h',
  })
  expect(stdout).toMatch(
    /^token +aw_secret\nid +tok_1\nlabel +viewer\nscopes +read, fs:read\nworkspaces +ws_1,docs-\*\/\*\n/,
  )
  expect(stderr).toContain('this once')
  expect((await shown([...args, '--quiet'], made)).stdout).toBe('aw_secret\n')
  expect(JSON.parse((await shown([...args, '--json'], made)).stdout)).toEqual(made)
  const rotated = await shown(['token', 'rotate', 'tok_1', '--grace', '10m'], {
    ...made,
    label: null,
    workspaces: null,
  })
  expect(rotated.calls[0]?.input).toEqual({ id: 'tok_1', grace: '10m' })
  expect(rotated.stdout).toMatch(/workspaces +all\n/)
})

test('a scope that does not exist is refused before anybody is asked', async () => {
  const { exit, calls, stderr } = await runCli(['token', 'create', '--scope', 'everything'])
  expect([exit, calls]).toEqual([2, []])
  expect(stderr).toContain('everything')
})

test('a list tells what is valid, and until when', async () => {
  const ending = { ...token, id: 'tok_2', revoked: { reason: 'rotated', from: '2030-01-01T00:10:00.000Z' } }
  const over = { ...token, id: 'tok_3', state: 'revoked', workspaces: null, label: null }
  const { stdout } = await shown(['token', 'list'], [token, ending, over])
  const rows = stdout.split('\n')
  expect(rows[0]).toMatch(/^ID +STATE +AGE +EXPIRES +SCOPES +WORKSPACES +LABEL/)
  expect(rows[1]).toMatch(/^tok_1 +active +\S+ +- +read,fs:read +ws_1,docs-\*\/\* +viewer/)
  expect(rows[2]).toMatch(/^tok_2 +active +\S+ +\d+m +/)
  expect(rows[3]).toMatch(/^tok_3 +revoked +\S+ +- +read,fs:read +all +-/)
  expect((await shown(['token', 'list', '--quiet'], [token, over])).stdout).toBe('tok_1\ntok_3\n')
  expect((await shown(['token', 'list'], [])).stderr).toContain('aw token create')
  expect((await shown(['token', 'revoke', 'tok_1'], over)).stdout).toBe('tok_3 is revoked\n')
})

test('who took a workspace over is told whose lease is void', async () => {
  const lease = { id: 'ls_1', workspace: 'x/main', holder: 'ann', acquired_at: 'a', expires_at: 'b' }
  const forced = await shown(['adopt', 'x', '--holder', 'ann', '--force'], { ...lease, adopted_from: 'ci' })
  expect(forced.calls[0]?.input).toEqual({ id: 'x', holder: 'ann', force: true })
  expect(forced.stdout).toMatch(/^lease +ls_1\n/)
  expect(forced.stderr).toBe('Taken over from ci, whose lease is void\n')
  expect((await shown(['adopt', 'x', '--holder', 'ann'], { ...lease, adopted_from: null })).stderr).toBe('')
})
