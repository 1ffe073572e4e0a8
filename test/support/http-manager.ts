import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { owner, type Principal } from '../../src/access/principal.ts'
import { remoteManager } from '../../src/client/remote/remote.ts'
import type { Address } from '../../src/client/remote/wire.ts'
import { resolveConfig } from '../../src/domain/config/config.ts'
import { mountSetting } from '../../src/domain/sandbox/mount.ts'
import { defaultJsonLimits } from '../../src/domain/text/strict-json.ts'
import { httpDoor, type DoorLimits, type DoorOptions } from '../../src/http/door.ts'
import { makeMetrics } from '../../src/http/metrics.ts'
import { httpServer, type ServerLimits } from '../../src/http/server.ts'
import type { IdempotencyStore } from '../../src/ports/idempotency-store.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { memoryIdempotencyStore } from '../memory/idempotency-store.ts'

export interface Served extends AsyncDisposable {
  readonly address: Address
  /** As a program on this machine would speak: over the socket without a token, over TCP with one. */
  readonly manager: Manager
  readonly logged: Readonly<Record<string, unknown>>[]
  readonly port: number
}

export interface ServeOptions {
  readonly over: 'socket' | 'tcp'
  readonly limits?: Partial<DoorLimits>
  /** Whom a secret stands for; the default is an administrator with the secret `admin`. */
  readonly principals?: Readonly<Record<string, Principal>>
  readonly places?: { home: string; basePath: string; storageRoot: string }
  /** What `sandbox.isolation` says; default namespace. */
  readonly isolation?: string
  readonly answers?: IdempotencyStore
  /** Whoever comes without a token is the user, as on the socket: then nothing but the other checks is in the way. */
  readonly trusting?: true
  readonly server?: Partial<ServerLimits>
  /** Addresses beside the operations. */
  readonly more?: DoorOptions['more']
}

const noLimits: DoorLimits = {
  rates: { create: 0, exec: 0, default: 0 },
  inFlight: 0,
  streams: 0,
  bodyBytes: 2 ** 20,
  uploadBytes: 64 * 2 ** 20,
  heldBytes: 256 * 2 ** 20,
  slowReaderMs: 10_000,
  json: defaultJsonLimits,
}

/** A manager behind the real HTTP door, and the client that reaches it. */
export async function served(core: Manager, options: ServeOptions): Promise<Served> {
  const {
    over,
    limits,
    places = { home: '/none', basePath: '/none/workspaces', storageRoot: '/none/storage' },
  } = options
  const principals: Readonly<Record<string, Principal>> = options.principals ?? {
    admin: { ...owner(0), actor: 'token:tok_admin' },
  }
  const logged: Readonly<Record<string, unknown>>[] = []
  const door = httpDoor({
    manager: core,
    facts: { places, isolation: options.isolation ?? 'namespace', mount: mountSetting(resolveConfig({})) },
    authenticate: async (secret) => principals[secret],
    answers: options.answers ?? memoryIdempotencyStore(),
    limits: { ...noLimits, ...limits },
    metrics: makeMetrics(),
    log: (record) => void logged.push(record),
    ready: () => ({ ready: true }),
    ...(options.more && { more: options.more }),
  })
  const entrance = {
    hosts: over === 'socket' ? ['localhost'] : [],
    local: over === 'socket' || options.trusting ? owner(process.getuid?.() ?? 0) : undefined,
  }
  const server = httpServer(door, entrance, {
    connections: 2048,
    headMs: 10_000,
    idleMs: 65_000,
    requestMs: 30_000,
    headerBytes: 16 * 1024,
    ...options.server,
  })
  const path = join(tmpdir(), `aw-served-${process.pid}-${randomBytes(6).toString('hex')}.sock`)
  await new Promise<void>((resolve) => {
    if (over === 'socket') server.listen(path, resolve)
    else server.listen(0, '127.0.0.1', resolve)
  })
  const port = over === 'tcp' ? (server.address() as AddressInfo).port : 0
  if (over === 'tcp') entrance.hosts.push(`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`)
  const address: Address = over === 'socket' ? { socket: path } : { host: '127.0.0.1', port }
  const manager = remoteManager({
    address,
    sockets: () => import('../../src/client/remote/socket.ts'),
    ...(over === 'tcp' && { token: Object.keys(principals)[0] }),
  })
  return {
    address,
    manager,
    logged,
    port,
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]()
      await closed(server)
      rmSync(path, { force: true })
    },
  }
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
