import { randomBytes } from 'node:crypto'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { AwError } from './domain/errors.ts'
import { directoryOf, loadConfig } from './drivers/config/load.ts'
import { assertPlaces } from './drivers/config/places.ts'
import { sqliteEvents } from './drivers/events/sqlite/sqlite.ts'
import { inspectHost } from './sys/inspect.ts'
import { linuxHost } from './drivers/host/linux.ts'
import { dirStorage } from './drivers/storage/dir.ts'
import { dirTexts } from './drivers/texts/dir.ts'
import { makeManager } from './manager/manager.ts'
import type { Clock } from './ports/clock.ts'
import type { Manager } from './ports/manager.ts'
import { prepareHome } from './sys/home.ts'
import { reserveIn } from './sys/reserve.ts'
import { lightFiles, removeTree, safeFiles } from './sys/safe-fs/index.ts'

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

const clock: Clock = { now: () => new Date(), random: (bytes) => randomBytes(bytes) }

/** Chooses the parts and connects them. The only place that sees the manager and the drivers together. */
export async function openManager(options: OpenOptions = {}): Promise<Manager> {
  const { env = process.env, shortLived } = options
  const cwd = options.cwd ?? workingDirectory()
  const home = homeOf(options, env, cwd)
  const { config, file } = await loadConfig({ home, configFile: options.configFile, set: options.set, env, cwd })
  const basePath = directoryOf(config.settings['workspaces.base_path'], home, 'workspaces')
  const storageRoot = directoryOf(config.settings['storage.root'], home, 'storage')
  // The defaults are in order, and need not be looked up.
  if (config.settings['workspaces.base_path'] !== '' || config.settings['storage.root'] !== '')
    assertPlaces({ home, basePath, storageRoot })
  const locks = join(home, 'locks')
  const texts = join(home, 'texts')
  prepareHome(home, [locks, texts])
  const reserve = reserveIn(home, config.settings['space.reserve_mb'] * 2 ** 20)
  const store = await sqliteEvents({ file: join(home, 'log.db'), anchor: join(home, 'log.anchor'), reserve, clock })
  const guarded = [home, locks, texts, basePath]
  const storage = dirStorage({ root: storageRoot, claim: join(home, 'storage.id'), guarded, shortLived })
  reserve.keep()
  return makeManager(
    {
      store,
      storage,
      files: shortLived === true ? lightFiles : safeFiles,
      host: linuxHost({ home, locks, avoid: [home, basePath, storageRoot] }),
      texts: dirTexts({ directory: texts }),
      clock,
      config,
      basePath,
      home,
      configFile: file,
      actor: `user:${process.getuid?.() ?? 0}`,
      inspect: () => inspectHost({ home, storageRoot }),
    },
    async () => {
      // A checkpoint that does not come off is made later; it must not keep the home from being closed.
      if (shortLived !== true) await store.seal(clock.now().toISOString()).catch(() => undefined)
      await storage[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  )
}

/** Empty if the directory was removed under us: then only absolute paths mean something. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    return ''
  }
}

/** An empty name is none: it must not make a home of the directory one happens to be in. */
function homeOf(options: OpenOptions, env: NonNullable<OpenOptions['env']>, cwd: string): string {
  const named = options.home || env['AW_HOME']
  if (named) return resolve(cwd, named)
  const user = homedir()
  if (user !== '') return resolve(cwd, user, '.aw')
  throw new AwError('invalid_config', 'There is no home directory to keep workspaces in', {
    hint: 'Set HOME, or name a place with --home or AW_HOME',
  })
}

/** Erases a home with everything in it, links not followed. For one that was made for a moment, as the tour's is. */
export const removeHome = (home: string): Promise<boolean> => removeTree(dirname(home), basename(home))
