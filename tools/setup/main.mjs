import { debianPackages } from './debian.mjs'
import { installBubblewrap } from './bubblewrap.mjs'
import { npmPackages } from './npm.mjs'
import { runWithPinnedNode } from './pinned-node.mjs'
import { inRoot } from './root.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * What has a word of its own: what it runs, and what it installs besides the npm packages.
 *
 * @type {Record<string, { script: string[], install?: () => void, cwd?: string | undefined }>}
 */
const modes = {
  // npm itself changes to the checkout: paths are those of where somebody stands.
  aw: { script: ['src/cli/main.ts'], cwd: process.env['INIT_CWD'] },
  start: { script: ['src/cli/main.ts', 'serve'], install: installBubblewrap },
  check: { script: ['tools/check.ts'] },
  test: { script: ['tools/test.ts'], install: debianPackages },
  bench: { script: ['bench/main.ts'], install: debianPackages },
}

const words = ['run <script>', ...Object.keys(modes)].map((word) => `${word} [arguments]`)
const usage = `usage: node tools/setup.mjs ${words.join(' | ')}`

/** @param {string[]} argv */
export async function main(argv) {
  try {
    process.exitCode = await setUpAndRun(argv)
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}

/** @param {string[]} argv */
function setUpAndRun([mode, ...args]) {
  if (mode === 'run' && args.length > 0) {
    npmPackages()
    return runWithPinnedNode(args)
  }
  const wanted = mode !== undefined && Object.hasOwn(modes, mode) ? modes[mode] : undefined
  if (wanted !== undefined) {
    npmPackages()
    wanted.install?.()
    const [file = '', ...words] = wanted.script
    return runWithPinnedNode([inRoot(file), ...words, ...args], wanted.cwd)
  }
  throw new SetupError(usage)
}
