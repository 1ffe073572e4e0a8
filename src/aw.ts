import { timingSafeEqual } from 'node:crypto'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Config } from './domain/config/config.ts'
import type { WorkspaceId } from './domain/ids.ts'
import { directoryOf, loadConfig } from './drivers/config/load.ts'
import { treeOwner } from './drivers/config/owner.ts'
import { assertDisjointPaths } from './drivers/config/disjoint-paths.ts'
import { dirIdempotencyStore } from './drivers/idempotency/dir.ts'
import { sqliteEvents } from './drivers/events/sqlite/sqlite.ts'
import { inspectHost } from './sys/home/inspect.ts'
import { lazy } from './drivers/lazy.ts'
import { linuxHost } from './drivers/host/linux.ts'
import { openStorage } from './drivers/storage/open.ts'
import type { StorageLocation } from './drivers/storage/registry.ts'
import { dirArchiveStore } from './drivers/archives/store.ts'
import { dirSizeCache } from './drivers/size-cache/dir.ts'
import { dirTexts } from './drivers/texts/dir.ts'
import { dirRequests } from './drivers/requests/dir.ts'
import { dirVariables } from './drivers/variables/dir.ts'
import { makeManager } from './manager/manager.ts'
import { tokenFinder } from './manager/access/token-finder.ts'
import type { IdempotencyStore } from './ports/idempotency-store.ts'
import { homeOf } from './client/home.ts'
import type { Clock } from './ports/clock.ts'
import type { EventStore } from './ports/event-store.ts'
import type { Manager } from './ports/manager.ts'
import type { Follower } from './ports/sandbox-driver.ts'
import type { Tokens } from './ports/tokens.ts'
import { bridgeDirectory, hasBridge } from './sys/home/bridge-directory.ts'
import { cliCommand } from './sys/processes/cli-program.ts'
import { prepareHome } from './sys/home/home.ts'
import { native } from './sys/syscalls/native.ts'
import { pooledRandomBytes } from './sys/home/random.ts'
import { reserveIn, type Reserve } from './sys/fs/reserve.ts'
import { removeTree, safeFiles, walkFiles } from './sys/safe-fs/index.ts'

export interface OpenOptions {
  /** Where everything is kept; default AW_HOME, else `~/.aw`. */
  readonly home?: string | undefined
  /** Default AW_CONFIG, else `aw.toml` in the home. */
  readonly configFile?: string | undefined
  /** Settings that win over the file and the environment, by key. */
  readonly set?: Readonly<Record<string, string>> | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly cwd?: string | undefined
  /**
   * The program does one thing and ends, as the command line does. It leaves it to others to seal the log, and does
   * without what takes longer to load than it saves; nothing that is promised changes.
   */
  readonly shortLived?: boolean | undefined
}

const clock: Clock = { now: () => new Date(), random: pooledRandomBytes }

interface ResolvedHome {
  readonly home: string
  readonly config: Config
  readonly configFile: string | undefined
  readonly basePath: string
  readonly archives: string
  readonly storage: StorageLocation
}

/** What the options, the environment and the configuration say; the home's own directories are made. */
export async function resolveHome(options: OpenOptions): Promise<ResolvedHome> {
  const { env = process.env, shortLived } = options
  const cwd = options.cwd ?? workingDirectory()
  const home = homeOf(options, env, cwd)
  const { config, file } = await loadConfig({ home, configFile: options.configFile, set: options.set, env, cwd })
  const basePath = directoryOf(config.settings['workspaces.base_path'], home, 'workspaces')
  const root = directoryOf(config.settings['storage.root'], home, 'storage')
  const archives = directoryOf(config.settings['archive.directory'], home, 'archives')
  // The defaults are in order, and need not be looked up.
  const places = ['workspaces.base_path', 'storage.root', 'archive.directory'] as const
  if (places.some((key) => config.settings[key] !== ''))
    assertDisjointPaths({ home, basePath, storageRoot: root, archives })
  const guarded = [
    home,
    ...['locks', 'texts', 'variables', 'requests', 'run', 'runs'].map((name) => join(home, name)),
    basePath,
  ]
  const patienceMs = config.settings['locks.timeout_ms']
  const owner = treeOwner(config)
  const storage = { home, root, claim: join(home, 'storage.id'), guarded, shortLived, owner, patienceMs }
  return { home, config, configFile: file, basePath, archives, storage }
}

export const openManager = async (options: OpenOptions = {}): Promise<Manager> => (await openHome(options)).manager

/** A home, and who may use it besides its user: for a program that lets others in. Closing the manager closes it. */
export interface OpenedHome {
  readonly manager: Manager
  readonly tokens: Tokens
  /** Whoever holds a lease counts as idle until they renew or use it: what was restored can then be adopted at once. */
  readonly restLeases: () => Promise<void>
  /** Notes how late it is, so that no token comes back when the clock is set back. */
  readonly noteTime: () => Promise<void>
  readonly answers: IdempotencyStore
  readonly config: Config
  readonly configFile: string | undefined
  readonly places: { readonly home: string; readonly basePath: string; readonly storageRoot: string }
}

/** Chooses the parts and connects them. The only place that sees the manager and the drivers together. */
export async function openHome(options: OpenOptions = {}): Promise<OpenedHome> {
  const { shortLived } = options
  const { home, config, configFile, basePath, archives, storage: place } = await resolveHome(options)
  const locks = join(home, 'locks')
  const texts = join(home, 'texts')
  const variables = join(home, 'variables')
  const requests = join(home, 'requests')
  // Locks are cheaper with them, and a process keeps to the kind of its first. What runs but once does not wait for them.
  if (shortLived !== true) native()
  prepareHome(home, [locks, texts, variables, requests])
  const reserve = reserveIn(home, config.settings['space.reserve_mb'] * 2 ** 20)
  const store = await openLog(home, reserve, shortLived)
  const storage = await openStorage(place, config.settings['storage.driver']).catch(async (error: unknown) => {
    await store[Symbol.asyncDispose]()
    throw error
  })
  reserve.keep()
  const avoid = [home, basePath, place.root]
  const sandboxes = lazy(() => sandboxesIn(join(home, 'run')))
  const manager = makeManager(
    {
      store,
      storage,
      files: shortLived === true ? walkFiles : safeFiles,
      host: linuxHost({ home, storageRoot: place.root, locks, avoid }),
      texts: dirTexts({ directory: texts }),
      sizes: dirSizeCache({ directory: join(home, 'sizes') }),
      repositories: lazy(async () => {
        const { gitRepositories } = await import('./drivers/repositories/git.ts')
        return gitRepositories({ root: join(home, 'mirrors'), avoid })
      }),
      results: lazy(async () => (await import('./drivers/results/git.ts')).gitResults({ avoid })),
      archives: lazy(async () => (await import('./drivers/archives/tar.ts')).tarArchives),
      archiveStore: dirArchiveStore(archives),
      variables: dirVariables({ directory: variables }),
      requests: dirRequests({ directory: requests }),
      agents: lazy(async () => {
        const { linuxAgents } = await import('./drivers/agents/linux.ts')
        return linuxAgents({
          directory: join(home, 'agents'),
          profiles: join(home, 'agents.d'),
          env: options.env ?? process.env,
          userHome: homedir(),
          avoid,
          owner: place.owner,
        })
      }),
      bridge: { directory: bridgeDirectory(home), isOpen: () => hasBridge(home) },
      logs: lazy(
        async () => (await import('./drivers/kept-logs/dir.ts')).dirKeptLogs({ directory: join(home, 'runs') }),
        'read',
      ),
      follower: runFollower(options, home, configFile),
      sandboxes: (isolation) => sandboxes.of(isolation),
      clock,
      config,
      basePath,
      home,
      configFile,
      actor: `user:${process.getuid?.() ?? 0}`,
      inspect: () => inspect(place, config),
    },
    async () => {
      // A checkpoint that does not come off is made later; it must not keep the home from being closed.
      if (shortLived !== true) await store.seal(clock.now().toISOString()).catch(() => undefined)
      await storage[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  )
  const tokens = tokenFinder({ store, clock, isSame: (one, other) => timingSafeEqual(one, other) })
  return {
    manager,
    tokens,
    restLeases: () => store.restLeases(),
    noteTime: () => store.passed(clock.now().toISOString()),
    answers: dirIdempotencyStore(join(home, 'answers')),
    config,
    configFile,
    places: { home, basePath, storageRoot: place.root },
  }
}

/** @param run where each box has a directory of its own */
async function sandboxesIn(run: string) {
  const [{ sandboxDrivers }, { proxyCommand }] = await Promise.all([
    import('./drivers/sandbox/registry.ts'),
    import('./drivers/sandbox/proxy/program.ts'),
  ])
  return { of: sandboxDrivers({ run, proxy: proxyCommand() }) }
}

/**
 * Who brings a run to its end in the log when nobody waits for it: the command line, for a moment. It is told the same
 * settings; and of the environment nothing but what it needs to run, as secrets may be among the rest.
 */
function runFollower({ set = {}, env = process.env }: OpenOptions, home: string, configFile: string | undefined) {
  const isNeeded = (name: string): boolean => /^(HOME|PATH|AW_(?!CRASH).*)$/.test(name)
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const places = ['--home', home, ...(configFile === undefined ? [] : ['--config-file', configFile])]
  const settings = Object.entries(set).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  return (id: WorkspaceId): Follower => ({
    argv: [...cliCommand(), ...places, ...settings, '--quiet', 'recover', id],
    env: Object.fromEntries(given.filter(([name]) => isNeeded(name))),
  })
}

export const openLog = (home: string, reserve: Reserve, shortLived = false): Promise<EventStore> =>
  sqliteEvents({ file: join(home, 'log.db'), anchor: join(home, 'log.anchor'), reserve, clock, shortLived })

async function inspect(place: StorageLocation, { settings }: Config): ReturnType<typeof inspectHost> {
  const { home, root } = place
  const [{ storageFindings }, { sandboxFindings }, { proxyCommand }] = await Promise.all([
    import('./drivers/storage/findings.ts'),
    import('./drivers/sandbox/findings.ts'),
    import('./drivers/sandbox/proxy/program.ts'),
  ])
  const boxes = { run: join(home, 'run'), proxy: proxyCommand(), isolation: settings['sandbox.isolation'] }
  const all = await Promise.all([
    inspectHost({ home, storageRoot: root }),
    storageFindings(place),
    sandboxFindings(boxes),
  ])
  return all.flat()
}

/** Empty if the directory was removed under us: then only absolute paths mean something. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    return ''
  }
}

/** Erases a home with everything in it, links not followed. For one that was made for a moment, as the tour's is. */
export const removeHome = (home: string): Promise<boolean> => removeTree(dirname(home), basename(home))

export { writeUntranslated } from './sys/home/terminal.ts'

/** What of the user's own a command may look at or change outside the home. */
export { checkoutAt } from './sys/git/work-tree.ts'
export { readUserFile, replaceUserFile, type UserFile } from './sys/home/user-file.ts'
