import type { Archives } from '../ports/archives.ts'
import type { Isolation } from '../domain/sandbox/spec.ts'
import type { Repositories } from '../ports/repositories.ts'
import type { SandboxDriver } from '../ports/sandbox-driver.ts'

/** Drivers that few calls need are loaded when the first one does. */

export function laterRepositories(places: { root: string; avoid: readonly string[] }): Repositories {
  let opened: Promise<Repositories> | undefined
  const driver = (): Promise<Repositories> =>
    (opened ??= import('./repositories/git.ts').then(({ gitRepositories }) => gitRepositories(places)))
  return {
    identify: async (url) => (await driver()).identify(url),
    resolve: async (request) => (await driver()).resolve(request),
    clone: async (request) => (await driver()).clone(request),
    list: async () => (await driver()).list(),
    remove: async (name) => (await driver()).remove(name),
  }
}

/** @param run where each box has a directory of its own */
export function laterSandboxes(run: string): (isolation: Isolation) => Promise<SandboxDriver> {
  let opened: Promise<(isolation: Isolation) => Promise<SandboxDriver>> | undefined
  const open = async () => {
    const [{ sandboxDrivers }, { proxyCommand }] = await Promise.all([
      import('./sandbox/registry.ts'),
      import('../sys/proxy/program.ts'),
    ])
    return sandboxDrivers({ run, proxy: proxyCommand() })
  }
  return async (isolation) => (await (opened ??= open()))(isolation)
}

const tar = async (): Promise<Archives> => (await import('./archives/tar.ts')).tarArchives

export const laterArchives: Archives = {
  digest: async (...given) => (await tar()).digest(...given),
  about: async (...given) => (await tar()).about(...given),
  unpack: async (...given) => (await tar()).unpack(...given),
  pack: async (...given) => (await tar()).pack(...given),
}
