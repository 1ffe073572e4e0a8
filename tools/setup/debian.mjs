import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isOnPath } from './on-path.mjs'
import { inRoot } from './root.mjs'
import { SetupError } from './setup-error.mjs'

/** @typedef {{ package: string, command: string, why: string }} DebianPackage */

/** Installs the Debian packages that the tests and benchmarks use, where that is allowed and possible; says the command elsewhere. */
export function debianPackages() {
  const missing = wantedPackages().filter(({ command }) => !isOnPath(command))
  if (missing.length === 0) return
  const names = missing.map((wanted) => wanted.package)
  if (!isOnPath('apt-get')) throw new SetupError(withoutApt(missing))
  if (process.getuid?.() !== 0) throw new SetupError(withoutRoot(missing, names))
  console.error(`Installing Debian packages that the tests and benchmarks use (apt-get): ${describe(missing)} …`)
  aptGetInstall(names)
}

function wantedPackages() {
  return /** @type {DebianPackage[]} */ (JSON.parse(readFileSync(inRoot('tools', 'debian-packages.json'), 'utf8')))
}

/** @param {string[]} names */
function aptGetInstall(names) {
  const install = ['install', '-y', '--no-install-recommends', ...names]
  if (aptGet(install).status === 0) return
  aptGet(['update'])
  const second = aptGet(install)
  if (second.status === 0) return
  process.stderr.write(`${second.stdout}${second.stderr}`)
  throw new SetupError(`apt-get ${install.join(' ')} failed; see above`)
}

/** @param {string[]} args */
const aptGet = (args) =>
  spawnSync('apt-get', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: Infinity,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })

/** @param {DebianPackage[]} missing */
const describe = (missing) => missing.map((wanted) => `${wanted.package} (${wanted.why})`).join(', ')

/**
 * @param {DebianPackage[]} missing
 * @param {string[]} names
 */
const withoutRoot = (missing, names) =>
  `The tests and benchmarks use Debian packages that are not installed: ${describe(missing)}. Install them with\n\n` +
  `  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names.join(' ')}\n\n` +
  'and run the same command again.'

/** @param {DebianPackage[]} missing */
const withoutApt = (missing) =>
  `The tests and benchmarks use these commands, and they are not installed: ${missing.map((wanted) => wanted.command).join(', ')}.\n` +
  `Install them with the package manager of this system (on Debian: ${missing.map((wanted) => wanted.package).join(', ')}).`
