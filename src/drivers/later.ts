import type { Agents } from '../ports/agents.ts'
import type { Archives } from '../ports/archives.ts'
import type { Isolation } from '../domain/sandbox/spec.ts'
import type { GitResults } from '../ports/git-results.ts'
import type { Repositories } from '../ports/repositories.ts'
import type { KeptLogs } from '../ports/kept-logs.ts'
import type { SandboxDriver } from '../ports/sandbox-driver.ts'
import type { AgentsOptions } from './agents/linux.ts'

/** Drivers that few calls need are loaded when the first one does. */

export function laterRepositories(places: { root: string; avoid: readonly string[] }): Repositories {
  let opened: Promise<Repositories> | undefined
  const driver = (): Promise<Repositories> =>
    (opened ??= import('./repositories/git.ts').then(({ gitRepositories }) => gitRepositories(places)))
  return {
    identify: async (url) => (await driver()).identify(url),
    uncommitted: async (...given) => (await driver()).uncommitted(...given),
    resolve: async (request) => (await driver()).resolve(request),
    clone: async (request) => (await driver()).clone(request),
    list: async () => (await driver()).list(),
    remove: async (name) => (await driver()).remove(name),
  }
}

export const laterResults = (places: { avoid: readonly string[] }): GitResults => ({
  open: async (...given) => (await import('./results/git.ts')).gitResults(places).open(...given),
})

export function laterAgents(options: AgentsOptions): Agents {
  let opened: Promise<Agents> | undefined
  const driver = (): Promise<Agents> =>
    (opened ??= import('./agents/linux.ts').then(({ linuxAgents }) => linuxAgents(options)))
  return {
    written: async () => (await driver()).written(),
    find: async (...given) => (await driver()).find(...given),
    value: async (source) => (await driver()).value(source),
    prepare: async (...given) => (await driver()).prepare(...given),
    remove: async (workspace) => (await driver()).remove(workspace),
  }
}

/** @param run where each box has a directory of its own */
export function laterSandboxes(run: string): (isolation: Isolation) => Promise<SandboxDriver> {
  let opened: Promise<(isolation: Isolation) => Promise<SandboxDriver>> | undefined
  const open = async () => {
    const [{ sandboxDrivers }, { proxyCommand }] = await Promise.all([
      import('./sandbox/registry.ts'),
      import('./sandbox/proxy/program.ts'),
    ])
    return sandboxDrivers({ run, proxy: proxyCommand() })
  }
  return async (isolation) => (await (opened ??= open()))(isolation)
}

/** @param directory where each run has one of its own */
export function laterKeptLogs(directory: string): KeptLogs {
  let opened: Promise<KeptLogs> | undefined
  const driver = (): Promise<KeptLogs> =>
    (opened ??= import('./kept-logs/dir.ts').then(({ dirKeptLogs }) => dirKeptLogs({ directory })))
  return {
    place: async (run) => (await driver()).place(run),
    async *read(run, options) {
      yield* (await driver()).read(run, options)
    },
    end: async (run) => (await driver()).end(run),
    remove: async (run) => (await driver()).remove(run),
  }
}

const tar = async (): Promise<Archives> => (await import('./archives/tar.ts')).tarArchives

export const laterArchives: Archives = {
  digest: async (...given) => (await tar()).digest(...given),
  about: async (...given) => (await tar()).about(...given),
  unpack: async (...given) => (await tar()).unpack(...given),
  pack: async (...given) => (await tar()).pack(...given),
}
