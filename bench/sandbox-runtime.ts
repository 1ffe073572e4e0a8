import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * What others use for the same: `@anthropic-ai/sandbox-runtime`, as a command and as a library. It is installed for the
 * measurement alone, and needs the packages socat and ripgrep, which nothing of ours does.
 */
export interface SandboxRuntime {
  readonly version: string
  /** `srt true` */
  readonly command: () => void
  /** From nothing to the end of a command, and everything let go. */
  readonly library: () => Promise<void>
  /** For commands one after another: made ready once, and let go at the end. */
  readonly ready: () => Promise<{ readonly run: () => Promise<void>; readonly end: () => Promise<void> }>
}

const name = '@anthropic-ai/sandbox-runtime'
const pinned = '0.0.83'

/** To be called by whoever may write there; undefined without a registry of packages, or without what it needs. */
export function installRuntime(folder: string): boolean {
  mkdirSync(folder, { recursive: true })
  const lacks = ['socat', 'rg', 'bwrap'].some((tool) => spawnSync(tool, ['--version']).error !== undefined)
  const install = ['install', '--no-audit', '--no-fund', '--no-save', '--prefix', folder, `${name}@${pinned}`]
  return !lacks && spawnSync('npm', install, { cwd: folder, stdio: 'ignore' }).status === 0
}

interface Library {
  readonly SandboxManager: {
    initialize(config: object): Promise<void>
    wrapWithSandbox(command: string): Promise<string>
    reset(): Promise<void>
  }
}

/** In `tree` alone may be written, and nothing may be reached: as our own. */
export async function sandboxRuntime(folder: string, tree: string): Promise<SandboxRuntime> {
  const installed = join(folder, 'node_modules', name)
  const { version } = createRequire(import.meta.url)(join(installed, 'package.json')) as { version: string }
  const config = {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [tree], denyWrite: [] },
  }
  const { SandboxManager: library } = (await import(pathToFileURL(join(installed, 'dist/index.js')).href)) as Library
  const cli = join(installed, 'dist/cli.js')
  const run = async (): Promise<void> => {
    const child = spawn(await library.wrapWithSandbox('true'), { shell: true, stdio: 'ignore', cwd: tree })
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject).on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`srt: ${code}`))))
    })
  }
  return {
    version,
    command: () => void execFileSync(process.execPath, [cli, 'true'], { cwd: tree, stdio: 'ignore' }),
    async library() {
      await library.initialize(config)
      await run()
      await library.reset()
    },
    async ready() {
      await library.initialize(config)
      return { run, end: () => library.reset() }
    },
  }
}
