import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { SandboxDriver } from '../../ports/sandbox-driver.ts'
import type { BoxOptions } from './box-driver.ts'

/** The driver of each level, loaded when it is first used. */
const drivers: Readonly<Record<Isolation, (options: BoxOptions) => Promise<SandboxDriver>>> = {
  none: async (options) => (await import('./none.ts')).noneSandbox(options),
  guarded: async (options) => (await import('./guarded.ts')).guardedSandbox(options),
  namespace: async (options) => (await import('./namespace.ts')).namespaceSandbox(options),
}

/** One driver for each level, the same each time it is asked for. */
export function sandboxDrivers(options: BoxOptions): (isolation: Isolation) => Promise<SandboxDriver> {
  const opened = new Map<Isolation, Promise<SandboxDriver>>()
  return (isolation) => {
    const driver = opened.get(isolation) ?? drivers[isolation](options)
    opened.set(isolation, driver)
    return driver
  }
}
