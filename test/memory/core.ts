import { randomBytes } from 'node:crypto'
import { memoryAgents, type MemoryAgents } from './agents.ts'
import { memoryArchiveStore } from './archive-store.ts'
import { memoryEvents } from './events.ts'
import { memoryDisk, type Disk } from './disk.ts'
import { memoryFiles } from './files.ts'
import { memoryMachine, type Machine } from './host.ts'
import { memorySizeCache } from './size-cache.ts'
import { memoryStorage } from './storage/storage.ts'
import { memoryBoxes, memorySandboxes } from './sandbox/sandbox.ts'
import { memoryTexts } from './texts.ts'
import { memoryKeptLogs } from './kept-logs.ts'
import { memoryRequests } from './requests.ts'
import { memoryVariables } from './variables.ts'
import { resolveConfig } from '../../src/domain/config/config.ts'
import { AwError } from '../../src/domain/errors.ts'
import type { Isolation } from '../../src/domain/sandbox/spec.ts'
import { parseGitUrl } from '../../src/domain/git/url.ts'
import { makeManager } from '../../src/manager/manager.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { EventStore } from '../../src/ports/event-store.ts'
import type { Manager } from '../../src/ports/manager.ts'
import type { SandboxDriver } from '../../src/ports/sandbox-driver.ts'
import type { StorageDriver } from '../../src/ports/storage-driver.ts'
import { mortal, mortalFiles } from '../support/kill-after.ts'

export interface MemoryCore {
  readonly manager: Manager
  /** Another process on the same machine. `steps`: so many of its changes happen, and nothing after them. */
  readonly start: (steps?: number) => MemoryProcess
  readonly store: EventStore
  readonly disk: Disk
  readonly machine: Machine
  readonly agents: MemoryAgents
}

export interface MemoryProcess {
  readonly manager: Manager
  /** As with `kill -9`. */
  readonly end: () => void
  /** How many of its steps are left. */
  readonly left: () => number
}

export interface MemoryOptions {
  readonly now?: () => Date
  readonly set?: Readonly<Record<string, string>>
  /** Told before a tree is measured: a moment in which others may act. */
  readonly onMeasure?: () => Promise<void>
  /** The same, before a tree is restored, or something is copied into one. */
  readonly onRestore?: () => Promise<void>
  readonly onImport?: () => Promise<void>
  /** The same, before a tree is made durable. */
  readonly onSync?: () => Promise<void>
  /** The same, before a sandbox is started. */
  readonly onStart?: () => Promise<void>
  /** Trees are attached as layers, as those of an ordinary user are on overlay. */
  readonly layered?: boolean
  /** The same, when somebody else's sandbox was found: it may end before it is asked for anything. */
  readonly onFound?: (driver: SandboxDriver, name: string) => Promise<void>
  /** How large the disk is, and how much of it is free. */
  readonly space?: (disk: Disk) => { bytes?: number; total?: number }
}

/** A whole core in the memory of one process: the manager as it is, and the simplest parts that keep their contracts. */
export function memoryCore({
  now = strictClock(),
  set = {},
  onMeasure,
  onRestore,
  onImport,
  onSync,
  onFound,
  onStart,
  layered = false,
  space = () => ({}),
}: MemoryOptions = {}): MemoryCore {
  const clock: Clock = { now, random: (bytes) => randomBytes(bytes) }
  const disk = memoryDisk(now)
  const machine = memoryMachine(disk)
  const store = memoryEvents()
  const trees = memoryStorage({ disk })
  const usage: StorageDriver['usage'] = async (place, options) => {
    await onMeasure?.()
    return trees.usage(place, options)
  }
  const restore: StorageDriver['restore'] = async (...restoring) => {
    await onRestore?.()
    return trees.restore(...restoring)
  }
  const importing: StorageDriver['import'] = async (...given) => {
    await onImport?.()
    return trees.import(...given)
  }
  const sync: StorageDriver['sync'] = async (...given) => {
    await onSync?.()
    return trees.sync(...given)
  }
  const free: StorageDriver['free'] = async () => ({ ...(await trees.free()), ...space(disk) })
  const attachment: StorageDriver['attachment'] = (place) => {
    const { path } = trees.attachment(place)
    return layered ? { kind: 'overlay', path, lower: [], upper: path, work: path } : { kind: 'dir', path }
  }
  const visibility = layered ? ('sandbox' as const) : ('host' as const)
  const capabilities = { ...trees.capabilities, visibility, remounts: layered }
  const storage = { ...trees, capabilities, usage, restore, import: importing, sync, free, attachment }
  disk.makeDirectory('/workspaces')
  const texts = memoryTexts()
  const sizes = memorySizeCache()
  const shelf = memoryArchiveStore(disk, '/archives')
  const variables = memoryVariables()
  const agents = memoryAgents()
  const boxes = memoryBoxes()
  // A box lives on when the process that started it has ended.
  const init = machine.host()
  function start(steps = Infinity): MemoryProcess {
    const life = { left: steps }
    const host = machine.host()
    const parts = {
      store: mortal(store, life, ['append']),
      storage: mortal(storage, life, ['create', 'import', 'snapshot', 'restore', 'move', 'sync', 'erase']),
      files: mortalFiles(memoryFiles(disk), life),
      host: mortal(host, life, ['publish', 'unpublish']),
      texts: mortal(texts, life, ['put', 'remove']),
      sizes,
      repositories: {
        identify: async (url: string) => parseGitUrl(url).clean,
        uncommitted: async () => undefined,
        resolve: outside,
        clone: outside,
        list: async () => [],
        remove: async () => undefined,
      },
      results: { open: outside },
      archives: { digest: outside, about: outside, unpack: outside, pack: outside },
      requests: memoryRequests,
      agents: mortal(agents, life, ['prepare', 'remove']),
      bridge: { directory: '/home/bridge', isOpen: async () => false },
      logs: memoryKeptLogs(boxes.kept),
      follower: () => undefined,
      variables: mortal(variables, life, ['write']),
      sandboxes: async (isolation: Isolation) => {
        const driver = memorySandboxes({ disk, isolation, machine: boxes, supervisor: () => init.owner() })
        const find: SandboxDriver['find'] = async (name) => {
          const found = await driver.find(name)
          if (found !== undefined) await onFound?.(driver, name)
          return found
        }
        const begin: SandboxDriver['start'] = async (name, plan, options) => {
          await onStart?.()
          return driver.start(name, plan, options)
        }
        return mortal({ ...driver, find, start: begin }, life, ['start', 'remove'])
      },
      archiveStore: mortal(shelf, life, ['pack', 'undo', 'remove']),
      clock,
      config: resolveConfig({ set }),
      basePath: '/workspaces',
      home: '/home',
      configFile: undefined,
      actor: 'user:0',
      inspect: async () => [],
    }
    const manager = makeManager(parts, async () => {
      await storage[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    })
    return { manager, end: () => machine.end(host.owner()), left: () => life.left }
  }
  return { manager: start().manager, start, store, disk, machine, agents }
}

const outside = async (): Promise<never> => {
  throw new AwError('unsupported', 'A core in memory has no files of the machine to work with')
}

/** No two moments are the same: a core without a disk does more than one thing in a millisecond. */
function strictClock(): () => Date {
  let last = 0
  return () => new Date((last = Math.max(Date.now(), last + 1)))
}
