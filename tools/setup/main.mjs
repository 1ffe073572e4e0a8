import { debianPackages } from './debian.mjs'
import { npmPackages } from './npm.mjs'
import { runWithPinnedNode } from './pinned-node.mjs'
import { SetupError } from './setup-error.mjs'

/** What has a word of its own, the script it runs, and whether that one uses programs of Debian packages. */
const modes = {
  check: { script: 'tools/check.ts', usesDebian: false },
  test: { script: 'tools/test.ts', usesDebian: true },
  bench: { script: 'bench/main.ts', usesDebian: true },
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
  if (mode !== undefined && Object.hasOwn(modes, mode)) {
    const { script, usesDebian } = modes[/** @type {keyof typeof modes} */ (mode)]
    npmPackages()
    if (usesDebian) debianPackages()
    return runWithPinnedNode([script, ...args])
  }
  throw new SetupError(usage)
}
