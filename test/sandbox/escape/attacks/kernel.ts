/** Parts of the kernel that lead past the walls, and rights that a command does not have. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Attack, Expected, Stage } from '../attack.ts'
import { helper } from '../canaries.ts'
import { runOnHost } from '../host-run.ts'
import { descriptorsOf, fileOf, namespaceOf, patience, processesWith, within } from '../host-processes.ts'

type Levels = Readonly<Record<'none' | 'guarded' | 'namespace', Expected>>

const filtered = { none: 'not held', guarded: 'held', namespace: 'held' } as const
const never = { none: 'held', guarded: 'held', namespace: 'held' } as const

/** One of its two processes is then in another namespace than the other. */
const leaving = (name: string, does: string, more: { plainly?: string } = {}): Attack => ({
  name,
  kind: 'user namespaces',
  does,
  ...more,
  expected: more.plainly === undefined ? filtered : never,
  async attempt(stage) {
    await stage.hold([stage.tool, name, '%marker'])
    return new Set(processesWith(stage.marker).map((pid) => namespaceOf(pid, 'user'))).size > 1
  },
})

/** It then holds a descriptor of that kind. */
const making = (
  name: string,
  kind: string,
  does: string,
  shape: RegExp,
  more: { plainly?: string; expected?: Levels; args?: readonly string[]; attack?: string } = {},
): Attack => ({
  name,
  kind,
  does,
  plainly: more.plainly,
  expected: more.expected ?? filtered,
  async attempt(stage) {
    await stage.hold([stage.tool, more.attack ?? name, '%marker', ...(more.args ?? [])])
    const open = processesWith(stage.marker).flatMap((pid) => descriptorsOf(pid, 3))
    return open.some((target) => shape.test(target))
  },
})

const mounting = (name: string, does: string): Attack => ({
  name,
  kind: 'mounts',
  does,
  expected: filtered,
  async attempt(stage) {
    await stage.hold([stage.tool, name, '%marker'])
    return processesWith(stage.marker).some((pid) => fileOf(pid, 'mountinfo').includes('aw-planted'))
  },
})

export const kernelAttacks: readonly Attack[] = [
  leaving('user-namespace', 'makes a user namespace (unshare), to be root in it'),
  leaving('user-clone', 'the same by clone'),
  leaving('user-clone3', 'the same by clone3, whose flags a filter cannot see'),
  leaving('user-x32', 'the same by the x32 numbers of system calls', {
    plainly: 'the kernel must have been built with them, and most are not',
  }),
  {
    ...leaving('user-int80', 'the same by the 32-bit numbers of system calls'),
    ...(process.arch === 'x64' ? {} : { plainly: 'only x64 has them', expected: never }),
  },
  mounting('mounts', 'mounts something, as it is or in a user namespace of its own'),
  mounting('new-mounts', 'the same by the newer calls (fsopen, move_mount)'),
  making('io-uring', 'kernel', 'makes an io_uring, whose work no filter sees', /io_uring/),
  making('perf', 'kernel', 'opens a performance counter', /perf_event/),
  making('userfaultfd', 'kernel', 'handles page faults itself (userfaultfd)', /userfaultfd/),
  making('bpf', 'kernel', 'makes a map for programs in the kernel (bpf)', /bpf/, {
    plainly: 'most kernels let only root',
    expected: never,
  }),
  making('vsock', 'network', 'makes a socket to the hypervisor (vsock)', /^socket:/, {
    attack: 'socket',
    args: ['40', '1', '0'],
  }),
  making('netlink', 'network', 'makes a socket to the packet filter of the kernel (netlink)', /^socket:/, {
    attack: 'socket',
    args: ['16', '3', '12'],
  }),
  {
    ...making('netlink-route', 'network', 'asks the kernel for the interfaces and routes (netlink)', /^socket:/, {
      attack: 'socket',
      args: ['16', '3', '0'],
      expected: { none: 'not held', guarded: 'held', namespace: 'not held' },
    }),
    note: 'programs fail without it; what it tells is of the network that the box has',
  },
  making('raw-socket', 'network', 'makes a raw socket', /^socket:/, {
    attack: 'socket',
    args: ['2', '3', '1'],
    plainly: 'only root may',
    expected: never,
  }),
  making('packet-socket', 'network', 'reads packets off the wire, in a user namespace of its own', /^socket:/),
  {
    name: 'open-device',
    kind: 'devices',
    does: 'opens devices of the host',
    expected: filtered,
    async attempt(stage) {
      const device = join(stage.tools, 'device')
      const disks = ['/dev/kvm', '/dev/fuse', '/dev/kmsg', '/dev/mem', '/dev/vda', '/dev/sda', '/dev/loop-control']
      await stage.hold([stage.tool, 'open-devices', '%marker', device, ...disks])
      const open = processesWith(stage.marker).flatMap((pid) => descriptorsOf(pid, 3))
      return open.some((target) => target === device || disks.includes(target))
    },
  },
  {
    name: 'make-device',
    kind: 'devices',
    does: 'makes a device in the tree, as it is or in a user namespace of its own',
    plainly: 'only root may',
    expected: never,
    async attempt(stage) {
      await stage.run([stage.tool, 'make-device', '%marker'])
      const path = join(stage.own, 'device')
      return existsSync(path) && statSync(path).isCharacterDevice()
    },
  },
  {
    name: 'setuid',
    kind: 'setuid',
    does: 'runs a program that has the rights of root',
    spec: (level, { tools }) =>
      level === 'none'
        ? {}
        : { binds: [{ source: tools, target: level === 'guarded' ? tools : '/mnt/tools', writable: false }] },
    expected: filtered,
    async attempt(stage) {
      const program = stage.where === 'namespace' ? '/mnt/tools/setuid' : join(stage.tools, 'setuid')
      const made = [join(stage.outside, 'loot'), join(stage.own, 'loot')]
      await stage.run([program, 'make', '%marker', made[0] ?? ''])
      return made.some((path) => existsSync(path) && statSync(path).uid === 0)
    },
  },
  {
    name: 'key',
    kind: 'keyrings',
    does: 'puts a key where all processes of the user have it',
    expected: filtered,
    async attempt(stage) {
      await stage.hold([stage.tool, 'key', '%marker', stage.marker])
      const all = join(stage.outside, 'keys')
      await runOnHost(stage.uid, ['sh', '-c', 'cat /proc/keys > "$1"', 'sh', all], '/')
      return readFileSync(all, 'latin1').includes(stage.marker)
    },
  },
  {
    name: 'tiocsti',
    kind: 'terminals',
    does: 'types into another terminal of the user (TIOCSTI)',
    expected: filtered,
    async attempt(stage) {
      const [terminal, typed] = await otherTerminal(stage)
      await stage.run([stage.tool, 'tiocsti', '%marker', terminal])
      return stage.harmed(300, () => existsSync(typed) && readFileSync(typed, 'latin1').includes('planted'))
    },
  },
  {
    name: 'terminal-write',
    kind: 'terminals',
    does: 'writes to another terminal of the user, as if it came from what runs there',
    expected: filtered,
    async attempt(stage) {
      const [terminal, , shown] = await otherTerminal(stage)
      await stage.run(['sh', '-c', 'echo "$0" > "$1"', '%marker', terminal])
      return stage.harmed(300, () => existsSync(shown) && readFileSync(shown, 'latin1').includes(stage.marker))
    },
  },
  {
    name: 'core-dump',
    kind: 'kernel',
    does: 'dies with a core dump, which the host may keep or pass to a program of root',
    plainly: 'where core_pattern names a file, one is left; other hosts collect them elsewhere',
    expected: never,
    async attempt(stage) {
      await stage.run([stage.tool, 'core', '%marker'])
      return readdirSync(stage.own).some((name) => name.startsWith('core'))
    },
  },
  {
    name: 'hostname',
    kind: 'kernel',
    does: 'changes the name of the host',
    plainly: 'only root may',
    expected: never,
    async attempt(stage) {
      const before = hostname()
      await stage.run([stage.tool, 'hostname', '%marker'])
      return hostname() !== before
    },
  },
  {
    name: 'clock',
    kind: 'kernel',
    does: 'sets the clock',
    plainly: 'only root may',
    expected: never,
    async attempt(stage) {
      const offset = (): number => Date.now() - performance.now()
      const before = offset()
      await stage.run([stage.tool, 'time', '%marker'])
      return Math.abs(offset() - before) > 2_000
    },
  },
  {
    name: 'sys',
    kind: '/proc',
    does: 'writes to /sys: leaves its cgroup, and raises the limits of it',
    plainly: 'only root may, or whom a cgroup was handed over to',
    expected: never,
    async attempt(stage) {
      const groups = (): string[] =>
        processesWith(stage.marker)
          .map((pid) => fileOf(pid, 'cgroup'))
          .filter((text) => text !== '')
      const leave = 'find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs | while read f; do echo $$ > "$f"; done'
      const raise = 'find /sys/fs/cgroup -path "*/aw/*" -name "*max" | while read f; do echo 99999 > "$f"; done'
      await stage.hold([
        'sh',
        '-c',
        `while [ ! -e go ]; do sleep 0.02; : > done; done; ${leave}; ${raise}; : > over; sleep 5`,
        '%marker',
      ])
      const before = groups()
      await go(stage)
      return groups().some((group) => !before.includes(group))
    },
  },
]

async function go(stage: Stage): Promise<void> {
  writeFileSync(join(stage.own, 'go'), '')
  await within(patience, () => existsSync(join(stage.own, 'over')))
}

/** A terminal that nobody of the attack has; what is typed there and what is shown there are kept in files. */
async function otherTerminal(stage: Stage): Promise<[terminal: string, typed: string, shown: string]> {
  const [typed, shown] = [join(stage.outside, 'typed'), join(stage.outside, 'shown')]
  return [await helper(stage, terminal, typed, shown), typed, shown]
}

const terminal = `
import os, select, sys, termios, time
master, slave = os.openpty()
mode = termios.tcgetattr(slave)
mode[3] &= ~termios.ECHO
termios.tcsetattr(slave, termios.TCSANOW, mode)
print(os.ttyname(slave), flush=True)
until = time.monotonic() + 20
while time.monotonic() < until:
    for fd in select.select([master, slave], [], [], 1)[0]:
        with open(sys.argv[1 if fd == slave else 2], 'ab') as file: file.write(os.read(fd, 4096))
`
