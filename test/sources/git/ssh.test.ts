import { execFileSync, spawn } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import type { Repositories } from '../../../src/ports/repositories.ts'
import { makePlace, makeSource, treeIn, type Place } from './fixture.ts'
import { serveSsh, type SshServer } from './servers.ts'

let place: Place
let server: SshServer
let repositories: Repositories
let source: string

beforeEach(async () => {
  place = makePlace()
  server = await serveSsh(place)
  repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  source = makeSource(place, 'widget', { a: '1' }, { b: '2' })
})
afterEach(() => place[Symbol.asyncDispose]())

async function clone(url: string, shallow: boolean): Promise<string> {
  const resolved = await repositories.resolve({ url, ref: null })
  const into = place.empty()
  await repositories.clone({ url, resolved, shallow, into })
  expect(place.git(into, 'status', '--porcelain')).toBe('')
  expect(place.git(into, 'log', '--format=%s').split('\n')).toHaveLength(shallow ? 1 : 2)
  expect(treeIn(into)).toEqual({ a: '1', b: '2' })
  return place.git(into, 'config', 'remote.origin.url')
}

test('the key and the command that the user has configured', async () => {
  place.configure('core.sshCommand', `ssh -F ${server.clientConfig(`IdentityFile ${server.key}`)}`)
  for (const shallow of [true, false]) {
    expect(await clone(`${server.site}${source}`, shallow)).toBe(`${server.site}${source}`)
  }
})

test('the short form of a url, and a host that the configuration of ssh explains', async () => {
  const lines = [`IdentityFile ${server.key}`, `Port ${server.port}`, 'HostName 127.0.0.1', 'User root']
  process.env['GIT_SSH_COMMAND'] = `ssh -F ${server.clientConfig(...lines)}`
  expect(await clone(`root@widgets.example:${source}`, true)).toBe(`root@widgets.example:${source}`)
})

test('the agent of the user', async () => {
  const agent = spawn('ssh-agent', ['-D', '-a', place.path('agent')], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise((resolve) => agent.on('exit', resolve))
  place.onLeave(() => (agent.kill(), ended))
  await new Promise((resolve) => agent.stdout.once('data', resolve))
  process.env['SSH_AUTH_SOCK'] = place.path('agent')
  execFileSync('ssh-add', ['-q', server.key])
  place.configure('core.sshCommand', `ssh -F ${server.clientConfig('IdentityFile none')}`)
  expect(await clone(`${server.site}${source}`, true)).toBe(`${server.site}${source}`)
})

test('nobody gets in without a key, and nothing asks for a password', async () => {
  place.configure('core.sshCommand', `ssh -F ${server.clientConfig('IdentityFile none')}`)
  await expect(repositories.resolve({ url: `${server.site}${source}`, ref: null })).rejects.toMatchObject({
    code: 'source_failed',
    message: expect.stringContaining('no access') as string,
  })
})

test('a host that ssh does not know is not trusted', async () => {
  await expect(repositories.resolve({ url: `${server.site}${source}`, ref: null })).rejects.toMatchObject({
    code: 'source_failed',
    message: expect.stringContaining('ssh does not know this host') as string,
    hint: expect.stringContaining('compare its key') as string,
  })
})
