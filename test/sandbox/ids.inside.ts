/** Whoever is root only because a user namespace says so, and has few ids or others than it is used to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endBoxes } from '../support/end-boxes.ts'
import { isRoot } from './fixture.ts'

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const script =
  'echo up >&2; read go; exec setpriv --reuid 0 --regid 0 --keep-groups unshare --mount --pid --fork --mount-proc "$@"'

/** `aw` as root of a user namespace with so many ids, of which the first is `outside`. */
function rootOf(outside: number, count: number): (...words: string[]) => Promise<{ said: string; code: number }> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-ids-'))
  fs.chmodSync(base, 0o755)
  const home = join(base, 'of', 'home')
  fs.mkdirSync(join(base, 'of'))
  if (isRoot) fs.chownSync(join(base, 'of'), outside, outside)
  onTestFinished(async () => {
    await endBoxes(home)
    fs.rmSync(base, { recursive: true, force: true })
    // Empty, and what the home's sandboxes were mounted on.
    for (const name of fs.readdirSync('/tmp').filter((entry) => entry.startsWith('.aw-stage-')))
      if (fs.lstatSync(join('/tmp', name)).uid === outside) fs.rmdirSync(join('/tmp', name))
  })
  return async (...words) => {
    const command = ['--user', '--keep-caps', 'sh', '-c', script, 'sh', process.execPath, program, ...words]
    const child = spawn('unshare', command, { env: { ...process.env, AW_HOME: home, HOME: base } })
    let [told, errors] = ['', '']
    child.stdout.on('data', (data: Buffer) => (told += data.toString()))
    await once(child.stderr, 'data')
    child.stderr.on('data', (data: Buffer) => (errors += data.toString()))
    if (!isRoot) fs.writeFileSync(`/proc/${child.pid}/setgroups`, 'deny')
    for (const map of ['uid_map', 'gid_map']) fs.writeFileSync(`/proc/${child.pid}/${map}`, `0 ${outside} ${count}\n`)
    child.stdin.end('go\n')
    const [code] = (await once(child, 'close')) as [number]
    return { said: told + errors, code }
  }
}

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)
const look = ['sh', '-c', 'echo x > made; id -un; grep -h CapEff /proc/self/status']
const looked = /^agent\nCapEff:\t0+\n$/

const asRoot = () =>
  describe('root of a user namespace with many ids', () => {
    it('has sandboxes of every level, as the owner of the workspace', async () => {
      const aw = rootOf(100_000, 65_536)
      expect(await aw('create', 'x')).toMatchObject({ code: 0 })
      const { code, said } = await aw('exec', 'x', '--', ...look)
      expect([code, said]).toEqual([0, matching(/^agent\nCapEff:\t0+\naw: it runs as uid 61000, the owner .*\n$/)])
      const own = await aw('-q', 'exec', 'x', '--isolation', 'guarded', '--', 'sh', '-c', 'id -u; cat made')
      expect(own).toEqual({ code: 0, said: '61000\nx\n' })
      const listed = await aw('exec', 'x', '--allow', 'example.com', '--', 'true')
      expect(listed).toEqual({ code: 125, said: matching(/uid_map/) })
    })

    it('has none if root is root outside too and there is nobody else to be, and is told why', async () => {
      const aw = rootOf(0, 1)
      expect(await aw('create', 'x')).toMatchObject({ code: 0 })
      const { code, said } = await aw('exec', 'x', '--', 'true')
      expect([code, said]).toEqual([125, expect.stringMatching(/never runs as root[^]*too few ids/)])
    })
  })

const asOrdinaryUser = () =>
  describe('an ordinary user who is root of a user namespace with no other id', () => {
    it('has namespace sandboxes, as itself and without rights, and is told why no others', async () => {
      const aw = rootOf(process.getuid?.() ?? 0, 1)
      expect(await aw('create', 'x')).toMatchObject({ code: 0 })
      expect(await aw('exec', 'x', '--', ...look)).toEqual({ code: 0, said: matching(looked) })
      const { code, said } = await aw('exec', 'x', '--isolation', 'guarded', '--', 'true')
      expect([code, said]).toEqual([125, expect.stringMatching(/never runs as root[^]*too few ids/)])
      expect((await aw('doctor')).said).toMatch(/✓ sandbox namespace +works/)
    })
  })

if (isRoot) asRoot()
else asOrdinaryUser()
