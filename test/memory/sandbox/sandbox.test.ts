import { expect, it } from 'vitest'
import { code, sandboxContract, type SandboxSubject, startPlanned } from '../../contracts/sandbox.ts'
import { memoryDisk } from '../disk.ts'
import { memoryBoxes, memorySandboxes, type MemorySandboxOptions } from './sandbox.ts'

function subject(more: Partial<MemorySandboxOptions> = {}): SandboxSubject {
  const disk = memoryDisk(() => new Date())
  const machine = memoryBoxes()
  const owner = { host: 'memory', boot_id: '1', pid_namespace: '1', pid: 2, start_time: '3' }
  const open = () => memorySandboxes({ disk, machine, isolation: 'namespace', supervisor: () => owner, ...more })
  const tree = '/storage/volumes/ws_1'
  disk.makeDirectory(tree)
  return {
    driver: open(),
    reopen: open,
    spec: {
      attachment: { kind: 'dir', path: tree },
      mount: '/workspace',
      protect: [],
      binds: [],
      network: { mode: 'none' },
      limits: {},
      defaults: {},
      cgroupRequired: false,
      env: {},
    },
    programs: {
      echo: (text) => ['echo', text],
      complain: (text) => ['complain', text],
      exit: (status) => ['exit', String(status)],
      sleep: (ms) => ['sleep', String(ms / 1000)],
      cat: (...paths) => ['cat', ...paths],
      write: (path, text) => ['write', path, text],
      env: (name) => ['printenv', name],
      pwd: () => ['pwd'],
      flood: (bytes) => ['flood', String(bytes)],
    },
    write: (path, content) =>
      disk.put(`${tree}/${path}`, { kind: 'file', bytes: Buffer.from(content), mode: 0o644, mtime: disk.now() }),
    read: (path) => {
      const node = disk.at(`${tree}/${path}`)
      return node?.kind === 'file' ? node.bytes.toString() : undefined
    },
    close: () => undefined,
  }
}

sandboxContract('memory', async () => subject())

it('takes brokers only where they can be held', async () => {
  const brokers = [{ name: 'model', upstream: 'https://api.example.com', headers: { 'x-api-key': 'secret' } }]
  const network = { mode: 'allowlist', allow: [] } as const
  const { driver, spec } = subject()
  expect(await driver.plan({ ...spec, network, brokers })).toMatchObject({ notes: [] })
  await expect(driver.plan({ ...spec, brokers })).rejects.toEqual(code('sandbox_unenforceable'))
  const wrong = [{ name: 'model', upstream: 'nowhere', headers: {} }]
  await expect(driver.plan({ ...spec, network, brokers: wrong })).rejects.toEqual(code('invalid_input'))
  const guarded = subject({ isolation: 'guarded' })
  await expect(guarded.driver.plan({ ...guarded.spec, network, brokers })).rejects.toEqual(
    code('sandbox_unenforceable'),
  )
})

it('refuses a limit that nobody keeps, if it was asked for', async () => {
  const { driver, spec } = subject({ grades: { cpu_percent: 'none', processes: 'rlimit' } })
  await expect(startPlanned(driver, 'box_1', { ...spec, limits: { cpu_percent: 50 } })).rejects.toEqual(
    code('sandbox_unenforceable'),
  )
  const plan = await driver.plan({ ...spec, defaults: { cpu_percent: 50, processes: 9 } })
  expect(plan).toEqual({
    grades: { cpu_percent: 'none', processes: 'rlimit' },
    notes: ['nobody keeps cpu_percent here: there is no cgroup'],
  })
  const strict = { ...spec, defaults: { processes: 9 }, cgroupRequired: true }
  await expect(driver.plan(strict)).rejects.toEqual(code('sandbox_unenforceable'))
  expect(await driver.list()).toEqual([])
})
