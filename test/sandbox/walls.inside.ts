/** The walls of a `namespace` box, seen from inside and judged from outside. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Sandbox, SandboxSpec } from '../../src/ports/sandbox-driver.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'
import { boxUid, isRoot, type Place } from './fixture.ts'

const opened = openedPlaces()
const place = (): Place => opened('namespace')

async function started(more: Partial<SandboxSpec> = {}, prepare?: (at: Place) => void): Promise<[Sandbox, Place]> {
  const at = place()
  prepare?.(at)
  return [await startPlanned(at.driver, 'box_1', { ...at.spec, ...more }), at]
}

describe('the walls of a box', () => {
  it('leave it no capabilities, no way to new ones, and a filter', async () => {
    const [box] = await started()
    const status = await sh(box, 'cat /proc/self/status')
    const field = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? ''
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(field(set)).toBe('0000000000000000')
    expect(field('NoNewPrivs')).toBe('1')
    expect(field('Seccomp')).toBe('2')
    expect(field('Uid')).toBe('1000\t1000\t1000\t1000')
  })

  it('are not root outside: its processes and files are those of its user', async () => {
    const [box, { tree }] = await started()
    await sh(box, 'touch mine')
    const { uid } = fs.statSync(join(tree, 'mine'))
    expect(uid).not.toBe(0)
    const { exit } = box.exec({ argv: ['sleep', '77.25'], cwd: '.', env: {}, limits: {} })
    const owners = (): number[] =>
      fs
        .readdirSync('/proc')
        .filter((pid) => /^\d+$/.test(pid))
        .filter((pid) => commandOf(pid).includes('77.25'))
        .map((pid) => fs.statSync(`/proc/${pid}`).uid)
    await expect.poll(owners).toHaveLength(1)
    expect(owners()).toEqual([isRoot ? boxUid : process.getuid?.()])
    await box.stop({ graceMs: 0 })
    await exit.catch(() => undefined)
    expect(owners()).toEqual([])
  })

  it('give a command descriptors 0 to 2 and no other', async () => {
    const [box] = await started()
    const { stdout } = await ran(box, [
      'python3',
      '-c',
      'import os; print(sorted(map(int, os.listdir("/proc/self/fd"))))',
    ])
    // The last one is that of the listing itself.
    expect(stdout.trim()).toBe('[0, 1, 2, 3]')
  })

  it('show its own processes only', async () => {
    const [box] = await started()
    expect(await sh(box, 'ls /proc | grep -c "^[0-9]"')).toMatch(/^[3-6]\n$/)
    expect(await sh(box, 'cat /proc/1/cmdline | tr "\\0" " "')).toBe('/run/aw/box init ')
    expect(await sh(box, 'cat /proc/1/environ; ls /proc/1/fd; kill -9 1; echo alive')).toMatch(/denied[^]*alive\n$/)
  })

  it('have a network of nothing but a loopback', async () => {
    const [box] = await started()
    expect(await sh(box, "sed -n '3,$s/:.*//p' /proc/net/dev | tr -d ' '")).toBe('lo\n')
    const connect = 'import socket; socket.create_connection(("127.0.0.1", 22), 2)'
    expect((await ran(box, ['python3', '-c', connect])).stderr).toContain('ConnectionRefusedError')
    const away = 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'
    expect((await ran(box, ['python3', '-c', away])).stderr).toContain('Network is unreachable')
  })

  it('are read-only but for the tree, its home and /tmp, which have a size', async () => {
    const [box] = await started()
    const written = await sh(
      box,
      'for d in / /usr /etc /dev /proc /run /home /home/agent /tmp /dev/shm /workspace; do touch $d/x 2>/dev/null && echo $d; done',
    )
    expect(written.trim().split('\n')).toEqual(['/run', '/home/agent', '/tmp', '/dev/shm', '/workspace'])
    for (const path of ['/home/agent', '/tmp', '/dev/shm', '/run']) {
      expect(Number(await sh(box, `df --output=size ${path} | tail -1`))).toBeLessThanOrEqual(1024 * 1024)
    }
  })

  it('hide the rest of the machine', async () => {
    const [box, { base }] = await started()
    const seen = (await sh(box, 'ls -A /')).trim().split('\n')
    const system = ['bin', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'proc', 'run', 'sbin', 'tmp', 'usr']
    expect(seen.filter((name) => !system.includes(name))).toEqual(['workspace'])
    const hidden = await sh(box, `ls -d ${base} /root /sys /etc/shadow /etc/machine-id /var`)
    expect(hidden.match(/No such file/g)).toHaveLength(6)
    expect(await sh(box, 'hostname; whoami')).toBe('aw\nagent\n')
  })

  it('let it make no namespaces and no mounts', async () => {
    const [box] = await started()
    for (const flag of ['-U', '-m', '-p', '-n', '-i', '-u'])
      expect(await sh(box, `unshare ${flag} true`)).toMatch(/not permitted/)
    expect(await sh(box, 'mkdir m; mount -t tmpfs none m; umount m')).toMatch(
      /must be superuser[^]*(umount failed|not permitted|not mounted)/,
    )
  })

  it('keep calls away that no command needs', async () => {
    const [box] = await started()
    const script = `
import ctypes, errno, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno(), 'ok') if result < 0 else 'ok'
x64 = {'ptrace': 101, 'keyctl': 250, 'io_uring_setup': 425, 'bpf': 321, 'userfaultfd': 323, 'setns': 308,
       'perf_event_open': 298, 'open_by_handle_at': 304, 'clone3': 435, 'future': 480, 'add_key': 248, 'mount': 165}
for name, number in x64.items(): print(name, call(number, 0, 0, 0, 0, 0))
print('tiocsti', call(16, 0, 0x5412, 0))
print('unshare files', call(272, 0x400))
print('personality', call(135, 0xffffffff))
for family in (16, 17, 38, 40):
    try: socket.socket(family, socket.SOCK_RAW, 9); print(family, 'ok')
    except OSError as error: print(family, errno.errorcode[error.errno])
`
    const { stdout } = await ran(box, ['python3', '-c', script])
    const refused = ['ptrace', 'keyctl', 'io_uring_setup', 'bpf', 'userfaultfd', 'setns', 'perf_event_open']
    expect(stdout.trim().split('\n')).toEqual([
      ...refused.map((name) => `${name} EPERM`),
      'open_by_handle_at EPERM',
      'clone3 ENOSYS',
      'future ENOSYS',
      'add_key EPERM',
      'mount EPERM',
      'tiocsti EPERM',
      'unshare files ok',
      'personality ok',
      ...[16, 17, 38, 40].map((family) => `${family} EAFNOSUPPORT`),
    ])
  })

  it('make no links to what is outside the tree', async () => {
    const [box] = await started({ protect: ['.aw'] }, ({ make }) => make('.aw/secret', 'ours'))
    expect(await sh(box, 'ln /usr/bin/true copy; ln .aw/secret copy; ls -A')).toMatch(
      /cross-device[^]*cross-device[^]*\.aw\n$/,
    )
  })
})

describe('the tree', () => {
  it.each(['/workspace', '/mnt/aw-1a2b3c4d', '/srv/deep/er/place', '/tmp/here', '/home/agent/work'])(
    'is at %s',
    async (mount) => {
      const [box, { read }] = await started({ mount })
      expect(await sh(box, 'pwd; echo text > file')).toBe(`${mount}\n`)
      expect(read('file')).toBe('text\n')
    },
  )

  it.each([
    '/',
    '/usr',
    '/usr/local/x',
    '/etc/x',
    '/proc/1',
    '/dev',
    '/run/aw',
    '/tmp',
    '/home/agent',
    'relative',
    '/a/../b',
    '/a//b',
  ])('is not put at %s', async (mount) => {
    const { driver, spec } = place()
    await expect(startPlanned(driver, 'box_1', { ...spec, mount })).rejects.toEqual(code('invalid_input'))
    expect(await driver.list()).toEqual([])
  })

  it('is not a link that somebody put in its place', async () => {
    const { driver, spec, tree, base } = place()
    fs.mkdirSync(join(base, 'elsewhere'))
    fs.renameSync(tree, join(base, 'moved'))
    fs.symlinkSync(join(base, 'elsewhere'), tree)
    await expect(startPlanned(driver, 'box_1', spec)).rejects.toEqual(code('path_outside_workspace'))
    expect(await driver.list()).toEqual([])
  })

  it('is never run as root: one that would belong to root is refused before it is there', async () => {
    const { driver, spec } = place()
    const { attachment: _, ...walls } = spec
    const checked = driver.check(walls, { visibility: 'host', idmap: false, owner: isRoot ? 0 : undefined })
    if (!isRoot) return checked
    await expect(checked).rejects.toMatchObject({ code: 'sandbox_unenforceable', data: { owner: 0 } })
    await driver.check(walls, { visibility: 'host', idmap: true, owner: 0 })
  })

  it('is the one that was planned for: another one at its path is refused at the start', async () => {
    const { driver, spec, tree, base, make } = place()
    const plan = await driver.plan({ ...spec, protect: ['.aw'] })
    fs.renameSync(tree, join(base, 'moved'))
    fs.mkdirSync(tree)
    make('other', 'text')
    await expect(driver.start('box_1', plan)).rejects.toEqual(code('path_outside_workspace'))
    expect([fs.readdirSync(tree), fs.readdirSync(join(base, 'moved'))]).toEqual([['other'], []])
    expect(await driver.list()).toEqual([])
  })

  it('is protected as it is at the start: what has come since the plan is held, too', async () => {
    const { driver, spec, make } = place()
    const plan = await driver.plan({ ...spec, protectWithin: ['.git/hooks', '.git/config', '.mcp.json'] })
    make('.git/config', 'text')
    make('.mcp.json', 'text')
    await using box = await driver.start('box_1', plan)
    const said = await sh(box, 'echo x > .git/config; echo x > .mcp.json; touch .git/hooks/pre-commit .git/HEAD')
    expect(said.match(/Read-only/g)).toHaveLength(3)
    expect(await sh(box, 'cat .git/config .mcp.json; ls .git')).toBe('texttextHEAD\nconfig\nhooks\n')
  })

  it('is the one that the box was started on: another one at its path is refused', async () => {
    const [box, { tree, base }] = await started()
    fs.renameSync(tree, join(base, 'moved'))
    fs.mkdirSync(tree)
    await expect(ran(box, ['true'])).rejects.toEqual(code('invalid_state'))
  })

  it('holds links that lead out, and no command begins there', async () => {
    const [box] = await started({}, ({ tree }) => {
      fs.symlinkSync('/', join(tree, 'root'))
      fs.symlinkSync('../..', join(tree, 'up'))
      fs.mkdirSync(join(tree, 'real'))
      fs.symlinkSync('real', join(tree, 'inside'))
    })
    const at = (cwd: string) => ran(box, ['pwd'], { cwd })
    await expect(at('root')).rejects.toEqual(code('symlink_outside_workspace'))
    await expect(at('up')).rejects.toEqual(code('symlink_outside_workspace'))
    await expect(at('root/proc/self/cwd')).rejects.toEqual(code('symlink_outside_workspace'))
    expect((await at('inside')).stdout).toBe('/workspace/real\n')
  })

  it('has others beside it, writable or not, also in it', async () => {
    const at = place()
    for (const name of ['shared', 'fixed', 'inner']) {
      fs.mkdirSync(join(at.base, name))
      fs.writeFileSync(join(at.base, name, 'file'), name)
      if (isRoot) for (const path of [name, `${name}/file`]) fs.chownSync(join(at.base, path), 61_000, 61_000)
    }
    const bind = (source: string, target: string, writable: boolean) => ({
      source: join(at.base, source),
      target,
      writable,
    })
    const binds = [
      bind('shared', '/shared/a', true),
      bind('fixed', '/opt/fixed', false),
      bind('inner', '/workspace/in', true),
    ]
    await using box = await startPlanned(at.driver, 'box_1', { ...at.spec, binds })
    expect(await sh(box, 'cat /shared/a/file /opt/fixed/file in/file')).toBe('sharedfixedinner')
    expect(await sh(box, 'echo new > /shared/a/file; echo new > in/file; echo new > /opt/fixed/file')).toMatch(
      /Read-only/,
    )
    expect(['shared', 'fixed', 'inner'].map((name) => fs.readFileSync(join(at.base, name, 'file'), 'utf8'))).toEqual([
      'new\n',
      'fixed',
      'new\n',
    ])
    await box.stop()
    // The place where it was mounted is not left in the tree.
    expect(fs.readdirSync(at.tree)).toEqual([])
  })

  it('hides nothing of itself or of the system behind a bind', async () => {
    const { driver, spec, base } = place()
    for (const target of ['/workspace', '/usr/bin', '/etc/ssl', '/']) {
      const binds = [{ source: base, target, writable: true }]
      await expect(startPlanned(driver, 'box_1', { ...spec, binds })).rejects.toEqual(code('invalid_input'))
    }
    const mounted = { ...spec, mount: '/mnt/aw', binds: [{ source: base, target: '/mnt', writable: true }] }
    await expect(startPlanned(driver, 'box_1', mounted)).rejects.toEqual(code('invalid_input'))
  })
})

describe('protected names', () => {
  const protect = ['.aw', '.git/hooks', '.mcp.json', '.claude']

  it('can be read and not changed, nor replaced, nor moved away with what holds them', async () => {
    const [box, { tree }] = await started({ protect }, ({ make }) => {
      make('.aw/task.md', 'task')
      make('.git/hooks/pre-commit', 'hook')
      make('.mcp.json', '{}')
      make('.claude/settings.json', '{}')
    })
    expect(await sh(box, 'cat .aw/task.md .git/hooks/pre-commit .mcp.json')).toBe('taskhook{}')
    const before = shown(tree)
    await sh(
      box,
      `mv .git moved
       for name in .aw .git/hooks .mcp.json .claude; do
         mv $name moved; rm -rf $name; ln -sfn /tmp $name; mkdir $name/new; echo x > $name/file; chmod 777 $name
       done
       echo x > .aw/task.md; echo x > .git/hooks/pre-commit; echo x > .mcp.json; ln .mcp.json copy; rm -rf moved`,
    )
    expect(shown(tree)).toEqual(before)
    // What is not protected is as free as before.
    await sh(box, 'echo ok > .git/config; mkdir .git/objects; mv .git/config .git/moved')
    expect(fs.readFileSync(join(tree, '.git/moved'), 'utf8')).toBe('ok\n')
  })

  it('are protected though they were not there, and leave nothing behind', async () => {
    const [box, { tree, driver }] = await started({ protect }, ({ make }) => make('.git/HEAD', 'ref: refs/heads/main'))
    await sh(
      box,
      `for name in .aw .git/hooks .mcp.json .claude; do
         rm -rf $name; mkdir -p $name/x; mv $name moved; ln -sfn /tmp $name; echo '{"a":1}' > $name; rmdir $name
       done; mv .git moved; rm -rf moved`,
    )
    expect(fs.readdirSync(tree).toSorted()).toEqual(['.aw', '.claude', '.git', '.mcp.json'])
    expect(fs.readdirSync(join(tree, '.aw'))).toEqual([])
    expect(fs.readdirSync(join(tree, '.git/hooks'))).toEqual([])
    expect(fs.readFileSync(join(tree, '.mcp.json'), 'utf8')).toBe('')
    await box.stop()
    expect(fs.readdirSync(tree)).toEqual(['.git'])
    expect(fs.readdirSync(join(tree, '.git'))).toEqual(['HEAD'])
    expect(await driver.list()).toEqual([])
  })

  it('stay protected for one box when another one on the same tree ends', async () => {
    const at = place()
    const spec = { ...at.spec, protect: ['.aw'] }
    const one = await startPlanned(at.driver, 'box_1', spec)
    const two = await startPlanned(at.driver, 'box_2', spec)
    await one.stop()
    expect(await sh(two, 'mkdir .aw/x; mv .aw other')).toMatch(/Read-only[^]*busy/)
    await two.stop()
    expect(fs.readdirSync(at.tree)).toEqual([])
  })

  it('are not made in a directory that is not there: that is refused, and nothing is made', async () => {
    const { driver, spec, tree } = place()
    const starting = startPlanned(driver, 'box_1', { ...spec, protect: ['.git/hooks'] })
    await expect(starting).rejects.toEqual(
      expect.objectContaining({ code: 'sandbox_unenforceable', data: { protect: '.git/hooks', missing: '.git' } }),
    )
    expect(fs.readdirSync(tree)).toEqual([])
    expect(await driver.list()).toEqual([])
  })

  it('are held at the start as they are then, whatever came or went since the plan', async () => {
    const { driver, spec, tree, make } = place()
    make('gone')
    const plan = await driver.plan({ ...spec, protect: ['gone', 'come'] })
    fs.rmdirSync(join(tree, 'gone'))
    make('come/file', 'text')
    const box = await driver.start('box_1', plan)
    expect(await driver.placeholders('box_1')).toEqual(['gone'])
    expect(await sh(box, 'touch gone/x come/x')).toMatch(/gone\/x'?: Read-only[^]*come\/x'?: Read-only/)
    await box.stop()
    expect(fs.readdirSync(tree)).toEqual(['come'])
  })

  it.each(['.aw', 'dir/hooks'])('are refused if a link was put there since the plan: %s', async (name) => {
    const { driver, spec, tree, make } = place()
    make('elsewhere/hooks')
    make(name)
    const plan = await driver.plan({ ...spec, protect: [name] })
    const [first = ''] = name.split('/')
    fs.rmSync(join(tree, first), { recursive: true })
    fs.symlinkSync('elsewhere', join(tree, first))
    await expect(driver.start('box_1', plan)).rejects.toEqual(code('sandbox_unenforceable'))
    expect(fs.readdirSync(join(tree, 'elsewhere/hooks'))).toEqual([])
    expect(await driver.list()).toEqual([])
  })

  it('that need no more than to be held where they are do not stand in the way of a start', async () => {
    const protectWithin = ['.git/hooks', 'work/.git/hooks']
    const [box, { tree }] = await started({ protectWithin }, ({ make }) => make('work/.git/HEAD', 'head'))
    expect(await sh(box, 'touch work/.git/hooks/x; mkdir -p .git/hooks && touch .git/hooks/x && echo made')).toMatch(
      /Read-only[^]*made/,
    )
    await box.stop()
    expect(fs.readdirSync(join(tree, 'work/.git'))).toEqual(['HEAD'])
  })

  it.each([
    ['a link in its place', '.aw'],
    ['a link on the way', 'link/hooks'],
    ['a way out', '../x'],
  ])('are refused where they cannot be held: %s', async (_, name) => {
    const { driver, spec, tree, base } = place()
    fs.symlinkSync(base, join(tree, '.aw'))
    fs.mkdirSync(join(tree, 'real'))
    fs.symlinkSync('real', join(tree, 'link'))
    const codes = ['sandbox_unenforceable', 'path_traversal_attempt']
    const error: unknown = await startPlanned(driver, 'box_1', { ...spec, protect: [name] }).catch(
      (failure: unknown) => failure,
    )
    expect(codes).toContain((error as { code: string }).code)
    expect(fs.readdirSync(join(tree, 'real'))).toEqual([])
  })
})

const commandOf = (pid: string): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** Every name in a tree, with what is in it and its mode. */
function shown(tree: string): string[] {
  return fs
    .readdirSync(tree, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => {
      const stats = fs.lstatSync(join(tree, path))
      return `${path} ${stats.mode.toString(8)} ${stats.isFile() ? fs.readFileSync(join(tree, path), 'utf8') : ''}`
    })
}
