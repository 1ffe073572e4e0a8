import type { Manager } from '../ports/manager.ts'
import type { Globals } from './globals.ts'
import type { Io } from './io.ts'

/** What the global flags say about where to look. */
export interface ConnectOptions {
  readonly home?: string
  readonly configFile?: string
  readonly set?: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The command stays, as a server does. */
  readonly longLived?: boolean
}

export type Connect = (options: ConnectOptions) => Promise<Manager>

/** Opens the core in this process. It is loaded only now: `aw --help` or a misspelt flag does not need it. */
export const connect: Connect = async ({ longLived, ...options }) => {
  const { openManager } = await import('../aw.ts')
  return openManager({ ...options, shortLived: longLived !== true })
}

export const placeOf = ({ home, configFile, set }: Globals, { env, cwd }: Pick<Io, 'env' | 'cwd'>): ConnectOptions => ({
  ...(home === undefined ? {} : { home }),
  ...(configFile === undefined ? {} : { configFile }),
  set,
  env,
  cwd,
})
