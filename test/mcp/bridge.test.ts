/** The tools of a workspace as what runs in its sandbox reaches them: what there is, what there is not, and for how long. */
import { statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { place, type Place } from '../cli/built-command.ts'
import { asked, called, ground, question, tokensOf } from './bridge.ts'

type Tokens = Outputs['token list']

const tokens = (at: Place): Tokens => JSON.parse(at.aw('--json', 'token', 'list').stdout) as Tokens

async function site(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, response) => response.end('reached'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe.each(['same', 'ordinary'] as const)('as the %s user', (user) => {
  test('with no network at all there are the tools of the own workspace, and nothing else', async () => {
    await using home = await ground(user)
    const { at, inside, call } = home
    expect(at.aw('start', 'one', '--mcp')).toMatchObject({ code: 0 })
    expect(at.aw('start', 'two', '--mcp')).toMatchObject({ code: 0 })
    expect(await inside('one', 'echo $AW_MCP_URL; env | grep -i _proxy')).toBe('http://127.0.0.1:3128/.aw/mcp\n')
    const list = JSON.parse(await inside('one', 'sh client.sh', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')) as {
      result: { tools: { name: string; inputSchema: { properties: object } }[] }
    }
    const { tools } = list.result
    expect(tools.map(({ name }) => name).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'diff',
      'exec',
      'get_run',
      'list_files',
      'list_snapshots',
      'read_file',
      'restore',
      'snapshot',
      'write_file',
    ])
    expect(tools.filter(({ inputSchema }) => 'id' in inputSchema.properties)).toEqual([])

    // The work.
    expect(await call('one', 'write_file', { path: 'work/made', content: 'by a tool' })).toMatchObject({
      isError: false,
    })
    expect(await inside('one', 'cat made')).toBe('by a tool')
    expect(await call('one', 'snapshot', { label: 'kept' })).toMatchObject({ isError: false })
    expect(at.aw('snapshots', 'one').stdout).toContain('kept')
    // A command runs in the very sandbox that it was asked for from.
    await inside('one', 'echo mine > /tmp/mark')
    expect(await call('one', 'exec', { argv: ['cat', '/tmp/mark'] })).toMatchObject({
      structured: { stdout: 'mine\n', code: 0 },
    })

    // Not the work.
    expect(await call('one', 'exec', { id: 'two', argv: ['true'] })).toMatchObject({ isError: true })
    expect(await call('one', 'exec', { argv: ['true'], network: 'host' })).toMatchObject({ isError: true })
    expect(await call('one', 'read_file', { path: '../../two/main/work/client.sh' })).toMatchObject({ isError: true })
    for (const path of ['work/.git/hooks/pre-commit', '.aw/x', 'work/link/pre-commit']) {
      await inside('one', 'ln -sfn .git/hooks link')
      const { text } = await call('one', 'write_file', { path, content: 'x' })
      expect([path, text]).toEqual([path, expect.stringMatching(/^path_protected: /)])
    }
    expect(await call('one', 'restore', { snapshot: 'kept', restart: true })).toMatchObject({
      text: expect.stringMatching(/^permission_denied: /) as string,
    })
    expect(await call('one', 'restore', { snapshot: 'kept' })).toMatchObject({
      text: expect.stringMatching(/^workspace_active: /) as string,
    })
    const paths = [
      '/.aw/mcp/x',
      '/.aw/mcp/../api/health',
      '/.aw/mcp%2f..%2fapi/health',
      '/.aw/api/health',
      '/api/health',
      '/mcp',
    ]
    const said = await inside(
      'one',
      `for path in ${paths.join(' ')}; do curl -sS -m 10 --path-as-is -o /dev/null -w '%{http_code} ' http://127.0.0.1:3128$path; done`,
    )
    expect(said).toBe('400 400 404 404 400 400 ')
    const proxied = `curl -sS -m 10 -o /dev/null -w '%{http_code} ' -x http://127.0.0.1:3128`
    expect(
      await inside(
        'one',
        `${proxied} http://aw-mcp/mcp; ${proxied} http://example.com/; ${proxied} -p http://aw-mcp/mcp 2>&1 | head -c 20`,
      ),
    ).toMatch(/^(400|403) 403 /)
  })

  test('beside an allow-list, which stays what it is; a token of ones own changes nothing', async () => {
    await using home = await ground(user)
    const { at, inside, call } = home
    await using open = await site()
    await using closed = await site()
    at.aw('start', 'one', '--mcp', '--allow', `127.0.0.1:${open.port}`, '--memory-mb', '256')
    const fetched = (port: number) => ['curl', '-sS', '-m', '10', '-w', ' %{http_code}', `http://127.0.0.1:${port}/`]
    const got = async (port: number): Promise<unknown> =>
      (await call('one', 'exec', { argv: fetched(port) })).structured['stdout']
    expect(await got(open.port)).toBe('reached 200')
    expect(await got(closed.port)).toMatch(/ 403$/)
    expect(
      await inside('one', `sh client.sh -H 'authorization: Bearer aw_of-my-own'`, question('list_files', {})),
    ).toContain('"result"')
    const requests = JSON.parse(at.aw('--json', 'requests', 'one').stdout) as { host: string; verdict: string }[]
    expect(requests).toContainEqual(expect.objectContaining({ host: 'aw-mcp', verdict: 'allowed' }))
  })

  test('the token is nowhere, and over with its sandbox', async () => {
    await using home = await ground(user)
    const { at, inside, call } = home
    at.aw('start', 'one', '--mcp')
    at.aw('start', 'two', '--mcp')
    for (const id of ['one', 'two'])
      expect(await call(id, 'exec', { argv: ['true'] })).toMatchObject({ isError: false })
    const secrets = tokensOf(at.home)
    expect(new Set(secrets).size).toBe(2)
    for (const secret of secrets) expect((await asked(at.home, '/mcp', secret))[0]).not.toBe(401)
    expect((await asked(at.home, '/mcp'))[0]).toBe(401)
    expect((await asked(at.home, '/api/health', secrets[0]))[0]).toBe(404)
    expect(statSync(at.home).mode & 0o777).toBe(0o700)

    const search = `cat > /tmp/needles; (cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; find / -xdev -type f -size -2048k ! -path /tmp/needles 2>/dev/null | grep -vE '^/(usr|proc|sys)/' | xargs -d '\\n' cat) 2>/dev/null | grep -acFf /tmp/needles`
    expect(await inside('one', search, `${secrets.join('\n')}\n`)).toBe('0\n')
    for (const secret of secrets) {
      expect(at.sh(`grep -rlF '${secret}' "$AW_HOME"`).stdout).toBe('')
      expect(at.aw('--json', 'events').stdout).not.toContain(secret)
    }
    const outside = at.sh(`cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'`).stdout
    for (const secret of secrets) expect(outside).not.toContain(secret)

    expect(tokens(at).map(({ state, label, sandbox }) => [state, label, sandbox?.slice(0, 4)])).toEqual([
      ['active', 'mcp bridge', 'box_'],
      ['active', 'mcp bridge', 'box_'],
    ])
    at.aw('stop', 'one')
    at.aw('destroy', 'two', '--force')
    for (const secret of secrets) expect((await asked(at.home, '/mcp', secret))[0]).toBe(401)
    expect(tokens(at).map(({ revoked }) => revoked?.reason)).toEqual(['sandbox_ended', 'sandbox_ended'])
    expect(tokensOf(at.home)).toEqual([])
    expect(await inside('one', 'echo "[$AW_MCP_URL]"; curl -sS http://127.0.0.1:3128/.aw/mcp 2>&1')).toMatch(
      /^\[\]\ncurl: \(7\)/,
    )
  })

  test('those in the sandbox of one command stay in it, whatever else is started around the workspace', async () => {
    await using home = await ground(user)
    const { at } = home
    const script = [
      'echo mine > /tmp/mark',
      'echo ready > ready',
      'until [ -e go ]; do sleep 0.1; done',
      'sh client.sh',
    ].join('; ')
    const agent = at.start('exec', 'one', '--mcp', '--', 'sh', '-c', script)
    let printed = ''
    agent.stdout.on('data', (data: Buffer) => (printed += data.toString()))
    agent.stdin.end(question('exec', { argv: ['sh', '-c', 'cat /tmp/mark; sed 1,2d /proc/net/dev | cut -d: -f1'] }))
    const over = new Promise((resolve) => agent.on('close', resolve))
    const seen = (): boolean => at.aw('fs', 'list', 'one', 'work').stdout.includes('ready')
    for (let tries = 0; tries < 100 && !seen(); tries++) await sleep(100)
    expect(at.aw('start', 'one', '--network', 'host')).toMatchObject({ code: 0 })
    at.aw('fs', 'write', 'one', 'work/go', '--content', '')
    await over
    expect(called(printed).structured['stdout']).toMatch(/^mine\n *lo\n$/)
    expect(tokens(at)).toMatchObject([{ state: 'revoked', revoked: { reason: 'sandbox_ended' } }])
  })
})

test('without a daemon it is refused, and without the walls that it needs', async () => {
  using at = place()
  at.aw('create', 'one')
  for (const [verb, ...rest] of [['start'], ['exec', '--', 'true'], ['run', '--', 'true']] as const) {
    const id = verb === 'run' ? ['--id', 'one'] : ['one']
    const refused = at.aw('--json', verb, ...id, '--mcp', ...rest)
    expect(refused.code).not.toBe(0)
    expect(refused.stderr + refused.stdout).toContain('daemon_unavailable')
    expect(refused.stderr + refused.stdout).toContain('aw serve')
  }
  expect(at.aw('--set', 'mcp_bridge.enabled=true', 'exec', 'one', '--no-mcp', '--', 'true').code).toBe(0)
  expect(at.aw('--set', 'mcp_bridge.enabled=true', 'exec', 'one', '--', 'true').code).not.toBe(0)
  await using home = await ground('same')
  for (const walls of [
    ['--network', 'host'],
    ['--isolation', 'guarded'],
    ['--isolation', 'none'],
  ]) {
    const refused = home.at.aw('--json', 'start', 'one', '--mcp', ...walls)
    expect([walls, refused.stderr + refused.stdout]).toEqual([walls, expect.stringContaining('sandbox_unenforceable')])
  }
  expect(tokens(home.at)).toEqual([])
})

test('a daemon that is started anew is found again; what a crash left is revoked', async () => {
  await using home = await ground('same')
  const { at, inside, call } = home
  at.aw('start', 'one', '--mcp')
  expect(await call('one', 'list_files')).toMatchObject({ isError: false })
  await home.endDaemon()
  expect(await inside('one', 'sh client.sh')).toMatch(/503[^]*the daemon of aw does not run/)
  home.startDaemon()
  expect(await call('one', 'list_files')).toMatchObject({ isError: false })

  const [secret] = tokensOf(at.home)
  const launched = at.aw('--json', 'events', '--type', 'sandbox_launched').stdout
  const { data } = JSON.parse(launched) as { data: { supervisor: { pid: number } } }
  process.kill(data.supervisor.pid, 'SIGKILL')
  at.aw('recover')
  expect(tokens(at)).toMatchObject([{ state: 'revoked', revoked: { reason: 'sandbox_ended' } }])
  expect((await asked(at.home, '/mcp', secret))[0]).toBe(401)
})
