/** Other processes of the same user. */
import { chmodSync, chownSync, copyFileSync, existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { isRoot } from '../../fixture.ts'
import type { Attack, Expected, Stage } from '../attack.ts'
import { canaryProcess, type CanaryProcess, helper, isLooted } from '../canaries.ts'
import { runOnHost } from '../host-run.ts'
import { descriptorsOf, fileOf, isAlive, processesWith } from '../host-processes.ts'

const held = { none: 'not held', guarded: 'held', namespace: 'held' } as const

type Levels = Readonly<Record<'none' | 'guarded' | 'namespace', Expected>>

/** Something is done to a process that stands by. */
const onProcess = (
  name: string,
  does: string,
  succeeded: (canary: CanaryProcess, stage: Stage) => boolean | Promise<boolean>,
  more: { attack?: string; last?: (canary: CanaryProcess) => string; expected?: Levels; kind?: string } = {},
): Attack => ({
  name,
  kind: more.kind ?? 'processes',
  does,
  expected: more.expected ?? held,
  async attempt(stage) {
    const canary = await canaryProcess(stage)
    const last = more.last?.(canary) ?? canary.address
    await stage.run([stage.tool, more.attack ?? name, '%marker', String(canary.pid), last])
    return succeeded(canary, stage)
  },
})

const isHit = ({ isHit: now }: CanaryProcess, stage: Stage): Promise<boolean> => stage.harmed(100, now)
const isDead = ({ pid }: CanaryProcess, stage: Stage): Promise<boolean> => stage.harmed(100, () => !isAlive(pid))

/** Reads in /proc what belongs to processes that are not its own. */
const inProc = (name: string, does: string, script: string, expected: Levels = held): Attack => ({
  name,
  kind: '/proc',
  does,
  expected,
  async attempt(stage) {
    const canary = await canaryProcess(stage)
    await stage.run(['sh', '-c', script, '%marker', join(stage.outside, 'held-open')])
    return isLooted(stage, canary.secret) || isLooted(stage, canary.word)
  },
})

export const processAttacks: readonly Attack[] = [
  onProcess('signal', 'ends another process by a signal', isDead),
  onProcess('pipe-signal', 'has the kernel send the signal, as the owner of a pipe', isDead),
  onProcess('ptrace', 'attaches to another process and changes its memory', isHit),
  onProcess('vm-write', 'writes into the memory of another process (process_vm_writev)', isHit),
  onProcess('mem-file', 'writes to /proc/PID/mem', isHit, { kind: '/proc' }),
  onProcess(
    'get-fd',
    'takes an open file from another process (pidfd_getfd)',
    ({ secret }, stage) => isLooted(stage, secret),
    {
      last: () => '9',
    },
  ),
  onProcess(
    'limits-of-other',
    'sets limits of another process',
    ({ pid }) => /^Max open files +7 /m.test(fileOf(pid, 'limits')),
    {
      attack: 'limits',
    },
  ),
  onProcess('priority', 'slows down another process', ({ pid }) => getPriority(pid) === 7),
  inProc('proc-root', 'reads a file through /proc/PID/root of every process', 'cat /proc/[0-9]*/root"$1" > loot'),
  inProc('proc-environ', 'reads the variables of every process', 'cat /proc/[0-9]*/environ > loot'),
  inProc(
    'proc-fd',
    'opens the files that other processes have open',
    'for f in /proc/[0-9]*/fd/9; do [ -f $f ] && cat $f >> loot; done',
  ),
  inProc('proc-cmdline', 'reads the command lines of every process', 'cat /proc/[0-9]*/cmdline > loot', {
    none: 'not held',
    guarded: 'not held',
    namespace: 'held',
  }),
  {
    name: 'proc-exe',
    kind: '/proc',
    does: 'overwrites the program of another process by /proc/PID/exe',
    expected: held,
    async attempt(stage) {
      const program = join(stage.outside, 'program')
      copyFileSync(join(stage.tools, 'attack'), program)
      chmodSync(program, 0o755)
      if (isRoot) chownSync(program, stage.uid, stage.uid)
      const before = readFileSync(program)
      const { pid } = await canaryProcess(stage, program)
      await stage.run([stage.tool, 'program', '%marker', String(pid)])
      return !before.equals(readFileSync(program))
    },
  },
  {
    name: 'proc-sys',
    kind: '/proc',
    does: 'writes to /proc/sys and /proc/sysrq-trigger: what is run for a core dump, or to load a module',
    plainly: 'only root may',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const files = ['core_pattern', 'modprobe', 'hostname', 'sysrq', 'printk'].map(
        (name) => `/proc/sys/kernel/${name}`,
      )
      const values = (): string => files.map((file) => (existsSync(file) ? readFileSync(file, 'latin1') : '')).join()
      const before = values()
      await stage.run(['sh', '-c', 'for f; do echo 1 > "$f"; done', '%marker', ...files, '/proc/sysrq-trigger'])
      return values() !== before
    },
  },
  {
    name: 'inherited',
    kind: 'descriptors',
    does: 'looks for open files beyond 0, 1 and 2, and writes to them',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const leaked = stage.where === 'plain' ? 1 : undefined
      await stage.hold([stage.tool, 'stay', '%marker'], { leaked })
      const open = processesWith(stage.marker).flatMap((pid) => descriptorsOf(pid, 3))
      return open.length > 0
    },
  },
  {
    name: 'environment',
    kind: 'descriptors',
    does: 'looks for what is in the variables of whoever started it',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      process.env['AW_CANARY_SECRET'] = stage.marker
      stage.defer(() => delete process.env['AW_CANARY_SECRET'])
      const env = stage.where === 'plain' ? { AW_CANARY_SECRET: stage.marker } : {}
      await stage.run(['sh', '-c', 'env > loot'], { env })
      return isLooted(stage, stage.marker)
    },
  },
  {
    name: 'shared-memory',
    kind: 'processes',
    does: 'writes to shared memory (System V) of other processes',
    expected: held,
    async attempt(stage) {
      const id = await helper(stage, sharedMemory)
      stage.defer(() => runOnHost(stage.uid, ['/usr/bin/python3', '-c', endSharedMemory, id], '/'))
      await stage.run([stage.tool, 'shared-memory', '%marker', id])
      return (await helper(stage, readSharedMemory, id)).includes('planted')
    },
  },
]

const library = `
import ctypes, sys
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
`
const sharedMemory = `${library}
id = c.shmget(0, 4096, 0o1600)
print(id, flush=True)
`
const readSharedMemory = `${library}
print(ctypes.string_at(c.shmat(int(sys.argv[1]), None, 0), 16), flush=True)
`
const endSharedMemory = `${library}
c.shmctl(int(sys.argv[1]), 0, None)
`
