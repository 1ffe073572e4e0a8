import { owner, type Principal } from '../access/principal.ts'
import { openHome, type OpenedHome, type OpenOptions } from '../aw.ts'
import { AwError } from '../domain/errors.ts'
import type { Settings } from '../domain/config.ts'
import { httpDoor, type DoorLimits } from '../http/door.ts'
import { makeMetrics } from '../http/metrics.ts'
import { httpServer } from '../http/server.ts'
import {
  clearSocket,
  closeToOthers,
  reachable,
  removeTraces,
  socketOf,
  stampOf,
  takeHome,
  writeRecord,
} from '../sys/daemon-place.ts'
import { countFromHere } from '../sys/crash-points.ts'
import { version } from '../version.ts'
import { openBridge } from './bridge.ts'
import { startChecks, type StartReport } from './checks.ts'
import { closed, hostsOf, listening, tcpPlace } from './listen.ts'
import { startLoops } from './loops.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { stopRoute } from './stop-route.ts'

export interface DaemonOptions extends OpenOptions {
  /** As `server.listen`. */
  readonly listen?: string | undefined
  readonly signal: AbortSignal
  /** One record for each thing worth telling: a request, a loop, the start and the end. */
  readonly log: (record: Readonly<Record<string, unknown>>) => void
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
export async function startDaemon({ listen, signal, log, ...options }: DaemonOptions): Promise<Daemon> {
  const opened = await openHome(options)
  const { manager, config, places, restLeases, answers } = opened
  const { home } = places
  const lock = takeHome(home)
  try {
    if (lock === undefined)
      throw new AwError('invalid_state', `Another daemon serves ${home} already`, {
        hint: 'See it with aw serve --status, end it with aw serve --stop',
      })
    const place = tcpPlace(listen ?? config.settings['server.listen'])
    const report = await startChecks(manager, signal)
    await restLeases()

    let isReady = true
    const asked = Promise.withResolvers<void>()
    const metrics = makeMetrics()
    metrics.gauge('process_resident_memory_bytes', 'Memory of the daemon', () => process.memoryUsage.rss())
    metrics.gauge('aw_workspaces', 'Live workspaces', async () => (await manager.call('list', {})).length)
    const mcp = mcpRoutes(version())
    const door = httpDoor({
      manager,
      facts: { places, isolation: config.settings['sandbox.isolation'] },
      authenticate: authenticator(opened),
      answers,
      limits: limitsOf(config.settings),
      metrics,
      log,
      ready: () => ({ ready: isReady }),
      stamps: { version: version(), config: stampOf(opened.configFile) },
      more: { ...mcp.routes, ...stopRoute(asked.resolve) },
    })
    const limits = {
      connections: config.settings['server.max_connections'],
      requestMs: config.settings['server.request_timeout_ms'],
    }
    clearSocket(home)
    const local = httpServer(door, { hosts: ['localhost', 'aw'], local: owner(process.getuid?.() ?? 0) }, limits)
    await listening(local, reachable(socketOf(home)))
    closeToOthers(home)
    const bridge = await openBridge(door, home, limits.requestMs)
    const entrance = { hosts: ['localhost'] }
    const tcp = place === undefined ? undefined : httpServer(door, entrance, limits)
    const port = tcp === undefined || place === undefined ? 0 : await listening(tcp, place)
    entrance.hosts.splice(0, 1, ...hostsOf(port))
    const url =
      place === undefined ? undefined : `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`
    const started_at = new Date().toISOString()
    writeRecord(home, { pid: process.pid, version: version(), started_at, socket: socketOf(home), listen: url ?? null })
    countFromHere()
    const over = new AbortController()
    const gcMinutes = config.settings['server.gc_minutes']
    using cleanup = new DisposableStack()
    const loops = cleanup.use(startLoops({ manager, answers, gcMinutes, log, signal: over.signal }))
    cleanup.move()

    const servers = [local, bridge.server, ...(tcp === undefined ? [] : [tcp])]
    return {
      socket: socketOf(home),
      url,
      report,
      asked: asked.promise,
      async end() {
        isReady = false
        over.abort(new AwError('aborted', 'The daemon ends'))
        loops[Symbol.dispose]()
        const drainMs = config.settings['server.drain_ms']
        const last = setTimeout(() => door.stop(ending()), drainMs)
        // Whoever does not read the end of an answer does not keep us from ending.
        const cut = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), drainMs + lastWordsMs)
        door.stop(ending(), 'streams')
        await mcp[Symbol.asyncDispose]()
        await Promise.all(servers.map(closed))
        clearTimeout(last)
        clearTimeout(cut)
        await manager.call('shutdown', {}, { actor: 'daemon' }).catch((error: unknown) => log({ error: String(error) }))
        bridge.remove()
        removeTraces(home)
        await manager[Symbol.asyncDispose]()
        lock[Symbol.dispose]()
      },
    }
  } catch (error) {
    await manager[Symbol.asyncDispose]()
    lock?.[Symbol.dispose]()
    throw error
  }
}

const lastWordsMs = 1000

const ending = (): AwError => new AwError('aborted', 'The daemon ends', { hint: 'Ask again when it is back' })

const authenticator =
  ({ tokens }: OpenedHome) =>
  async (secret: string): Promise<Principal | undefined> => {
    const token = await tokens.find(secret)
    if (token === undefined) return undefined
    const { id, scopes, workspaces, sandbox } = token
    return { actor: `token:${id}`, scopes, workspaces, sandbox }
  }

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
  slowReaderMs: settings['server.slow_reader_ms'],
})
