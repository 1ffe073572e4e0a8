import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { inRoot, root } from './root.mjs'
import { SetupError } from './setup-error.mjs'

/** Brings node_modules in line with package-lock.json; does nothing when it already is. */
export function npmPackages() {
  if (isCurrent(readLock(inRoot('package-lock.json')), readLock(inRoot('node_modules', '.package-lock.json')))) return
  console.error('Installing the npm packages of this checkout (npm ci) …')
  const npm = spawnSync('npm', installArguments, {
    cwd: root,
    env: { ...process.env, PATH: pathWithoutOurs(process.env['PATH'] ?? '') },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: Infinity,
  })
  if (npm.status === 0) return
  process.stderr.write((npm.stdout ?? '') + (npm.stderr ?? ''))
  throw new SetupError(npm.error ? `npm cannot be started: ${npm.error.message}` : 'npm ci failed; see above')
}

/** No package here needs its install script, and one of them would compile against the headers of another Node. */
const installArguments = [
  'ci',
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  '--no-audit',
  '--no-fund',
  '--no-engine-strict',
  '--loglevel=error',
]

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string | string[], cpu?: string | string[],
 *   optionalDependencies?: Record<string, string> }} Package
 * @typedef {Record<string, Package>} Packages
 */

/**
 * npm writes what it installed into node_modules/.package-lock.json, last of all: an install that was interrupted is
 * not current. Parts for other systems may be absent.
 *
 * @param {Packages | undefined} wanted
 * @param {Packages | undefined} installed
 */
function isCurrent(wanted, installed) {
  if (!wanted) throw new SetupError('package-lock.json is missing or cannot be read; is this a whole checkout?')
  if (!installed) return false
  const ours = ownOptionalPaths(wanted)
  const same = Object.entries(wanted).every(([path, entry]) => {
    const there = installed[path]
    if (!there) return path === '' || (entry.optional && !(ours.has(path) && fitsHere(entry)))
    return there.version === entry.version && there.integrity === entry.integrity
  })
  return same && Object.keys(installed).every((path) => path in wanted)
}

/**
 * The optional packages that this checkout names itself, the pinned Node among them.
 *
 * @param {Packages} wanted
 */
function ownOptionalPaths(wanted) {
  const names = ['', 'tools/node'].flatMap((path) => Object.keys(wanted[path]?.optionalDependencies ?? {}))
  return new Set(names.map((name) => `node_modules/${name}`))
}

/** @param {Package} entry */
function fitsHere({ os, cpu }) {
  return (os === undefined || os.includes(process.platform)) && (cpu === undefined || cpu.includes(process.arch))
}

/** @param {string} path */
function readLock(path) {
  try {
    return /** @type {{ packages: Packages }} */ (JSON.parse(readFileSync(path, 'utf8'))).packages
  } catch {
    return undefined
  }
}

/**
 * npm must not run on the Node that it is about to replace.
 *
 * @param {string} path
 */
function pathWithoutOurs(path) {
  return path
    .split(delimiter)
    .filter((folder) => !folder.endsWith(join('node_modules', '.bin')))
    .join(delimiter)
}
