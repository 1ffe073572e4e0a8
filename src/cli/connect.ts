import { statSync } from 'node:fs'
import { join } from 'node:path'
import { homeOf } from '../client/home.ts'
import { daemonAt } from '../client/remote/daemon-at.ts'
import { remoteManager } from '../client/remote/remote.ts'
import { namesHostResource } from '../api/host-fields.ts'
import { operations } from '../api/table.ts'
import type { Operation } from '../api/operation.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { fileStamp, maxSocketPathBytes, socketName, type DaemonFacts } from '../domain/daemon.ts'
import { isLeaseId } from '../domain/ids.ts'
import type { Manager } from '../ports/manager.ts'
import { version } from '../version.ts'
import type { Globals } from './input/globals.ts'
import type { Io } from './io.ts'

/** What the global flags say about where to look. */
export interface ConnectOptions {
  readonly home?: string
  readonly configFile?: string
  readonly set?: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Under which writes are asked for. */
  readonly lease?: string
  /** The command stays, as a server does. */
  readonly longLived?: boolean
}

export type Connect = (options: ConnectOptions) => Promise<Manager>

/** The daemon of the home if one answers, else the core in this process. */
export const connect: Connect = async ({ lease, ...options }) => {
  const socket = daemonSocket(options)
  const manager = socket === undefined ? await openCore(options) : daemonOrLocal(socket, options)
  return lease === undefined ? manager : withLease(manager, lease)
}

export const withLease = (manager: Manager, lease: string): Manager => ({
  call: (name, input, context) => manager.call(name, input, { ...context, lease }),
  stream: (name, input, context) => manager.stream(name, input, { ...context, lease }),
  [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
})

/** It is loaded only now: `aw --help` or a misspelt flag does not need it. */
async function openCore({ longLived, ...options }: ConnectOptions): Promise<Manager> {
  const { openManager } = await import('../aw.ts')
  return openManager({ ...options, shortLived: longLived !== true })
}

/** Variables that are no settings. */
const nonSettingVariables = /^AW_(HOME|LEASE|DEBUG|WORKSPACE|TASK|AGENT|SLUG|PORT_BASE|MCP_URL|TOKEN)$/

export const hasSettingVariables = (env: ConnectOptions['env']): boolean =>
  Object.keys(env).some((name) => name.startsWith('AW_') && !nonSettingVariables.test(name))

/** Whoever brings settings of their own does it with them, and so by themselves. */
function daemonSocket(options: ConnectOptions): string | undefined {
  const { set = {}, configFile, env, cwd } = options
  if (configFile !== undefined || Object.keys(set).length > 0 || hasSettingVariables(env)) return undefined
  const socket = join(homeOf(options, env, cwd), socketName)
  // Whoever has a longer home does without.
  if (Buffer.byteLength(socket) > maxSocketPathBytes) return undefined
  const found = statSync(socket, { throwIfNoEntry: false })
  // Somebody else's would hear what we ask for, and could answer anything.
  const isOurs = found?.isSocket() === true && found.uid === (process.getuid?.() ?? found.uid)
  return isOurs ? socket : undefined
}

/** The daemon that calls would go through; undefined if none answers. */
export async function daemonOf(options: ConnectOptions): Promise<DaemonFacts | undefined> {
  const socket = daemonSocket(options)
  return socket === undefined ? undefined : daemonAt(socket)
}

/**
 * Each call goes to the daemon, unless it is about what is around this process. A daemon that is gone, of another version
 * or with settings that have changed since, has done nothing: then it is done here.
 */
function daemonOrLocal(socket: string, options: ConnectOptions): Manager {
  const config = statSync(join(socket, '..', 'aw.toml'), { throwIfNoEntry: false })
  const headers = { 'aw-version': version(), 'aw-config': fileStamp(config) }
  const remote = remoteManager({ address: { socket }, headers, shortLived: options.longLived !== true })
  let core: Promise<Manager> | undefined
  let isLeft = false
  const local = (): Promise<Manager> => (core ??= openCore(options))
  const leave = (error: unknown): void => {
    const { code, data } = toAwError(error)
    if (code !== 'daemon_unavailable' || data['sent'] !== false) throw error
    isLeft = true
  }
  return {
    async call(name, input, context) {
      if (!isLeft && !mustRunLocally(name, input)) {
        try {
          return await remote.call(name, input, context)
        } catch (error) {
          leave(error)
        }
      }
      return (await local()).call(name, input, context)
    },
    async *stream(name, input, context) {
      if (!isLeft && !mustRunLocally(name, input)) {
        try {
          yield* remote.stream(name, input, context)
          return
        } catch (error) {
          leave(error)
        }
      }
      yield* (await local()).stream(name, input, context)
    },
    async [Symbol.asyncDispose]() {
      await remote[Symbol.asyncDispose]()
      await (await core)?.[Symbol.asyncDispose]()
    },
  }
}

function mustRunLocally(name: string, input: object): boolean {
  const entry = operations.find((one) => one.name === name) as Operation | undefined
  const fields = entry?.input.properties ?? {}
  return (
    entry?.near === true ||
    Object.entries(input).some(([field, value]) => value !== undefined && namesHostResource(fields[field]))
  )
}

export function connectOptions(globals: Globals, { env, cwd }: Pick<Io, 'env' | 'cwd'>): ConnectOptions {
  const { home, configFile, set } = globals
  const lease = leaseOf(globals, env)
  return {
    ...(home === undefined ? {} : { home }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(lease === undefined ? {} : { lease }),
    set,
    env,
    cwd,
  }
}

/** What is no lease at all is a mistake; whether it is held is asked when something is written. */
function leaseOf({ lease: flag }: Globals, { AW_LEASE: variable = '' }: Io['env']): string | undefined {
  const lease = flag ?? variable
  if (isLeaseId(lease)) return lease
  if (flag === undefined && variable === '') return undefined
  throw new AwError('invalid_input', `${flag === undefined ? 'AW_LEASE' : '--lease'} is ${JSON.stringify(lease)}`, {
    hint: 'Give the id that aw lease acquire has told: ls_…',
    data: { lease },
  })
}
