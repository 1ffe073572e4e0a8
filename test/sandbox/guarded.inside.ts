/** What Landlock holds, what it does not hold, and that nothing at all holds at level none. */
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openManager } from '../../src/aw.ts'
import { toAwError } from '../../src/domain/errors.ts'
import type { SandboxSpec } from '../../src/ports/sandbox-driver.ts'
import { landlockGaps, landlockVersion } from '../../src/drivers/sandbox/walls/landlock.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openSandboxHome } from './home.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'
import { isRoot, type Place } from './fixture.ts'

const opened = openedPlaces()

/** A directory of the box's own user beside its tree, which it could reach by its path if nothing held it. */
function neighbour({ base }: Place): string {
  for (const path of [base, join(base, 'volumes')]) fs.chmodSync(path, 0o755)
  const path = join(base, 'beside')
  fs.mkdirSync(path, { mode: 0o777 })
  fs.chmodSync(path, 0o777)
  fs.writeFileSync(join(path, 'secret'), 'secret')
  fs.chmodSync(join(path, 'secret'), 0o666)
  return path
}

describe('guarded', () => {
  it('holds files: what is beside the tree is neither read nor written', async () => {
    const at = opened('guarded')
    const beside = neighbour(at)
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    const said = await sh(
      box,
      `cat ${beside}/secret; ls ${beside}; echo x > ${beside}/secret; touch ${beside}/new; ln ${beside}/secret here
       ln -s ${beside}/secret link; cat link; truncate -s 0 ${beside}/secret; mv ${beside}/secret here; echo x > /tmp/aw-guarded-${process.pid}`,
    )
    expect(said.match(/denied|cross-device/g)).toHaveLength(9)
    expect(fs.readFileSync(join(beside, 'secret'), 'utf8')).toBe('secret')
    expect(fs.readdirSync(beside)).toEqual(['secret'])
    expect(await sh(box, 'echo own > $HOME/a; echo own > $TMPDIR/a; cat $HOME/a $TMPDIR/a; echo x > /dev/null')).toBe(
      'own\nown\n',
    )
  })

  it('does not hold the mode of the home of its own user: whoever comes then is told what is wrong', async () => {
    const at = await openSandboxHome()
    await at.make('locked')
    const closing = at.run({ id: 'locked', isolation: 'guarded', argv: ['chmod', '0', at.home] })
    const told = (error: unknown): unknown => [toAwError(error).code, toAwError(error).hint]
    const locked = ['permission_denied', expect.stringContaining('chmod u+rwx')]
    try {
      // Root's boxes are another user.
      if (isRoot) return expect((await closing).end.code).toBe(1)
      expect(await closing.catch(told)).toEqual(locked)
      expect(await openManager({ home: at.home }).catch(told)).toEqual(locked)
    } finally {
      fs.chmodSync(at.home, 0o700)
    }
    return undefined
  })

  it('holds the network: without one there is no socket to be had', async () => {
    const at = opened('guarded')
    const server = createServer((socket) => socket.end('reached'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const ask = `import socket; print(socket.create_connection(("127.0.0.1", ${port}), 5).recv(99).decode())`
    try {
      await using box = await startPlanned(at.driver, 'box_1', at.spec)
      expect((await ran(box, ['python3', '-c', ask])).stderr).toContain('Address family not supported')
      const datagram = 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'
      expect((await ran(box, ['python3', '-c', datagram])).stderr).toContain('Address family not supported')
      await using online = await startPlanned(at.driver, 'box_2', { ...at.spec, network: { mode: 'host' } })
      expect((await ran(online, ['python3', '-c', ask])).stdout).toBe('reached\n')
    } finally {
      server.close()
    }
  })

  it('holds processes outside: they get no signal, and their memory is not read', async () => {
    const at = opened('guarded')
    await using other = await startPlanned(at.driver, 'box_2', at.spec)
    const { exit } = other.exec({ argv: ['sleep', '60'], cwd: '.', env: { SECRET: 'of another' }, limits: {} })
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    const pid = (await sh(other, 'pgrep -n sleep')).trim()
    expect(await sh(box, `kill -9 ${pid}; cat /proc/${pid}/environ`)).toMatch(/not permitted[^]*denied/)
    await other.stop({ graceMs: 0 })
    await exit.catch(() => undefined)
  })

  it('gives up privileges for good, and keeps calls away', async () => {
    const at = opened('guarded')
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    const status = await sh(box, 'grep -E "^(NoNewPrivs|Seccomp|CapEff):" /proc/self/status')
    expect(status.replaceAll('\t', ' ')).toBe('CapEff: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n')
    expect(await sh(box, 'unshare -Ur true; id -u')).toMatch(/not permitted\n[1-9]\d*\n/)
  })

  it('does not hide that others are there, and says so', async () => {
    const at = opened('guarded')
    const beside = neighbour(at)
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    expect(await sh(box, `stat -c %s ${beside}/secret; test -d /proc/${process.pid} && echo seen`)).toBe('6\nseen\n')
    const probe = await at.driver.probe()
    expect(probe.usable && probe.notes.join()).toContain('can be seen')
  })

  it.each<[string, Partial<SandboxSpec>]>([
    ['a part of the tree read-only', { protect: ['.aw'] }],
    ['a part that may be there', { protectWithin: ['.git/hooks'] }],
    ['an allow-list', { network: { mode: 'allowlist', allow: ['example.com'] } }],
  ])('refuses what it cannot hold: %s', async (_, more) => {
    const { driver, spec } = opened('guarded')
    await expect(startPlanned(driver, 'box_1', { ...spec, ...more })).rejects.toEqual(code('sandbox_unenforceable'))
    expect(await driver.list()).toEqual([])
  })

  it('knows what older versions lack', () => {
    expect(landlockVersion()).toBeGreaterThan(0)
    expect(landlockGaps(1)).toHaveLength(4)
    expect(landlockGaps(3)).toHaveLength(2)
    expect(landlockGaps(6)).toEqual([])
  })
})

describe('none', () => {
  it('holds nothing: a command may do what its user may', async () => {
    const at = opened('none')
    const beside = neighbour(at)
    await using box = await startPlanned(at.driver, 'box_1', at.spec)
    expect(await sh(box, `cat ${beside}/secret; echo changed > ${beside}/secret`)).toBe('secret')
    expect(fs.readFileSync(join(beside, 'secret'), 'utf8')).toBe('changed\n')
  })

  it('begins in the tree at its own path where its user can get there', async () => {
    const at = opened('none')
    await using box = await startPlanned(at.driver, 'box_1', isRoot ? { ...at.spec, uid: undefined } : at.spec)
    expect(await sh(box, 'pwd')).toBe(`${at.tree}\n`)
  })

  it.each<[string, Partial<SandboxSpec>]>([
    ['a part of the tree read-only', { protect: ['.aw'] }],
    ['a part that may be there', { protectWithin: ['.git/hooks'] }],
    ['no network', { network: { mode: 'none' } }],
    ['an allow-list', { network: { mode: 'allowlist', allow: [] } }],
  ])('refuses what it cannot hold: %s', async (_, more) => {
    const { driver, spec } = opened('none')
    await expect(startPlanned(driver, 'box_1', { ...spec, ...more })).rejects.toEqual(code('sandbox_unenforceable'))
  })
})

it('a tree that has no path on the host is refused before it is there', async () => {
  const trees = { visibility: 'sandbox', idmap: false, owner: isRoot ? 65_534 : undefined } as const
  for (const level of ['guarded', 'none'] as const) {
    const { driver, spec } = opened(level)
    const { attachment: _, ...walls } = spec
    await driver.check(walls, { ...trees, visibility: 'host' })
    await expect(driver.check(walls, trees)).rejects.toEqual(code('sandbox_unenforceable'))
  }
})
