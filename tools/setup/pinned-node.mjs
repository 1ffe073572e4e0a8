import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter } from 'node:path'
import { inRoot } from './root.mjs'
import { searchPath } from './search-path.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * Runs a script on the Node of this checkout and returns its exit code. A shell line cannot do this by itself after an
 * install: shells remember where they found `node` the first time.
 *
 * @param {string[]} args
 * @param {string} [cwd] where; here if it is left out
 * @returns {Promise<number>}
 */
export function runWithPinnedNode(args, cwd) {
  const node = pinnedNode()
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, {
      stdio: 'inherit',
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, PATH: [inRoot('node_modules', '.bin'), ...searchPath()].join(delimiter) },
    })
    passSignalsTo(child)
    child.on('error', (error) => reject(new SetupError(`${node} cannot be started: ${error.message}`)))
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : (code ?? 1)))
  })
}

function pinnedNode() {
  const pinned = inRoot('node_modules', '.bin', 'node')
  if (existsSync(pinned)) return pinned
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath
  throw new SetupError(
    `This checkout brings its own Node on Linux (x64, arm64) only, and this Node ${process.versions.node} is too old.\n` +
      'Install Node 24 and run the same command again.',
  )
}

/**
 * Ctrl-C reaches the whole group of processes, so here it is only survived, until the child has ended in its own way.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function passSignalsTo(child) {
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.on('SIGHUP', () => child.kill('SIGHUP'))
}
