import { debianPackages } from './debian.mjs'
import { npmPackages } from './npm.mjs'
import { runWithPinnedNode } from './pinned-node.mjs'
import { SetupError } from './setup-error.mjs'

const usage = 'usage: node tools/setup.mjs run <script> [arguments] | test [arguments] | check [arguments]'

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
  if (mode === 'check') {
    npmPackages()
    return runWithPinnedNode(['tools/check.ts', ...args])
  }
  if (mode === 'test') {
    npmPackages()
    debianPackages()
    return runWithPinnedNode(['tools/test.ts', ...args])
  }
  throw new SetupError(usage)
}
