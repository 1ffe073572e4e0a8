import { join } from 'node:path'
import type { Principal } from '../access/principal.ts'
import { openHome, type OpenedHome, type OpenOptions } from '../aw.ts'
import type { Settings } from '../domain/config/config.ts'
import type { DaemonFacts } from '../domain/daemon.ts'
import { AwError } from '../domain/errors.ts'
import { mountSetting } from '../domain/sandbox/mount.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import { parseTcpAddress } from '../domain/network/tcp-address.ts'
import { httpDoor, type DoorLimits, type DoorOptions } from '../http/door.ts'
import { makeMetrics } from '../http/metrics.ts'
import type { ServerLimits } from '../http/server.ts'
import { countFromHere } from '../sys/fs/crash-points.ts'
import {
  removeSocket,
  daemonSocketPath,
  stampOfPath,
  lockDaemon,
  daemonLogPath,
  rotateLog,
} from '../sys/home/daemon-files.ts'
import { version } from '../version.ts'
import { startChecks, type StartReport } from './checks.ts'
import { commandRoute, type CommandLine } from './command-route.ts'
import { openListeners } from './listeners.ts'
import type { Log } from './log.ts'
import { startLoops } from './loops.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { selfRoutes } from './self-routes.ts'

export interface DaemonOptions extends OpenOptions {
  /** As `server.listen`. */
  readonly listen?: string | undefined
  readonly signal: AbortSignal
  /** Runs the command lines of `aw-call`. */
  readonly commandLine: CommandLine
  /** One record for each thing worth telling: a request, a loop, the start and the end. */
  readonly log: Log
}

export interface Daemon {
  readonly socket: string
  /** `http://127.0.0.1:PORT`, if it listens there. */
  readonly url: string | undefined
  readonly report: StartReport
  /** Resolves when somebody asks it to end. */
  readonly asked: Promise<void>
  /** Takes no more requests, lets those that are under way end, and closes the home. */
  end(): Promise<void>
}

/** Everything is looked at before the first connection is taken: the settings, the walls, what was left undone. */
export async function startDaemon(given: DaemonOptions): Promise<Daemon> {
  const { listen, signal, commandLine, log, ...options } = given
  const opened = await openHome(options)
  const { manager, config, configFile, places, restLeases, noteTime, answers } = opened
  const { home } = places
  const lock = lockDaemon(home)
  const letGo = async (): Promise<void> => {
    await manager[Symbol.asyncDispose]()
    lock?.[Symbol.dispose]()
  }
  try {
    if (lock === undefined) throw another(home)
    const place = parseTcpAddress(listen ?? config.settings['server.listen'])
    const report = await startChecks(manager, config.settings, signal)
    await restLeases()
    await noteTime()
    const asked = Promise.withResolvers<void>()
    let isReady = true
    const self = { ...selfOf(home), listen: null as string | null }
    const mcp = mcpRoutes(version(), jsonOf(config.settings))
    const stamps = { version: version(), config: stampOfPath(configFile) }
    const command = commandRoute({
      commandLine,
      json: jsonOf(config.settings),
      isCurrent: () => stampOfPath(join(home, 'aw.toml')) === stamps.config,
    })
    const door = httpDoor({
      ...doorOptions(opened),
      stamps,
      log,
      ready: () => ({ ready: isReady }),
      more: { ...mcp.routes, ...selfRoutes(self, asked.resolve), ...command },
    })
    const entrances = await openListeners(door, home, place, serverLimits(config.settings))
    self.listen = entrances.url ?? null
    countFromHere()
    const over = new AbortController()
    const gcMinutes = config.settings['server.gc_minutes']
    const loops = startLoops({
      manager,
      answers,
      noteTime,
      gcMinutes,
      reopen: () => entrances.reopen(),
      turnLog: () => rotateLog(daemonLogPath(home)),
      log,
      signal: over.signal,
    })
    return {
      socket: daemonSocketPath(home),
      url: entrances.url,
      report,
      asked: asked.promise,
      async end() {
        isReady = false
        over.abort(ending())
        loops[Symbol.dispose]()
        const drainMs = config.settings['server.drain_ms']
        const last = setTimeout(() => door.end(ending(), 'all'), drainMs)
        door.end(ending(), 'followers')
        mcp.hush()
        await entrances.close(drainMs + lastWordsMs)
        clearTimeout(last)
        await mcp[Symbol.asyncDispose]()
        await manager.call('shutdown', {}, { actor: 'daemon' }).catch((error: unknown) => log({ error: String(error) }))
        await noteTime().catch((error: unknown) => log({ error: String(error) }))
        removeSocket(home)
        await letGo()
      },
    }
  } catch (error) {
    await letGo()
    throw error
  }
}

/** Whoever does not read the end of an answer does not keep us from ending. */
const lastWordsMs = 1000

const another = (home: string): AwError =>
  new AwError('invalid_state', `Another daemon serves ${home} already`, {
    hint: 'See it with aw serve --status, end it with aw serve --stop',
  })

const selfOf = (home: string): Omit<DaemonFacts, 'listen'> => ({
  pid: process.pid,
  version: version(),
  started_at: new Date().toISOString(),
  socket: daemonSocketPath(home),
})

const ending = (): AwError => new AwError('aborted', 'The daemon ends', { hint: 'Ask again when it is back' })

function doorOptions(opened: OpenedHome): Omit<DoorOptions, 'log' | 'ready' | 'more' | 'stamps'> {
  const { manager, config, places, answers } = opened
  const metrics = makeMetrics()
  metrics.gauge('process_resident_memory_bytes', 'Memory of the daemon', () => process.memoryUsage.rss())
  metrics.gauge('aw_workspaces', 'Live workspaces', async () => (await manager.call('list', {})).length)
  return {
    manager,
    answers,
    metrics,
    facts: { places, isolation: config.settings['sandbox.isolation'], mount: mountSetting(config) },
    authenticate: authenticator(opened),
    limits: limitsOf(config.settings),
  }
}

const authenticator =
  ({ tokens }: OpenedHome) =>
  async (secret: string): Promise<Principal | undefined> => {
    const token = await tokens.find(secret)
    if (token === undefined) return undefined
    const { id, scopes, workspaces, sandbox } = token
    return { actor: `token:${id}`, scopes, workspaces, sandbox }
  }

const serverLimits = (settings: Settings): ServerLimits => ({
  connections: settings['server.max_connections'],
  headMs: settings['server.header_timeout_ms'],
  idleMs: settings['server.idle_timeout_ms'],
  requestMs: settings['server.request_timeout_ms'],
  headerBytes: settings['server.header_kb'] * 1024,
})

const jsonOf = (settings: Settings): JsonLimits => ({
  depth: settings['server.json_depth'],
  keys: settings['server.json_keys'],
  values: settings['server.json_values'],
})

const limitsOf = (settings: Settings): DoorLimits => ({
  rates: {
    create: settings['rate_limit.create_per_minute'],
    exec: settings['rate_limit.exec_per_minute'],
    default: settings['rate_limit.default_per_minute'],
  },
  inFlight: settings['server.max_in_flight'],
  streams: settings['server.max_streams'],
  bodyBytes: settings['server.body_kb'] * 1024,
  uploadBytes: settings['server.upload_mb'] * 1024 * 1024,
  heldBytes: settings['server.memory_mb'] * 1024 * 1024,
  json: jsonOf(settings),
  slowReaderMs: settings['server.slow_reader_ms'],
})
