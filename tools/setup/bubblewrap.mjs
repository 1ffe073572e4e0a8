import { spawnSync } from 'node:child_process'
import { isOnPath } from './on-path.mjs'

/** How each package manager installs without asking. */
const managers = {
  'apt-get': ['install', '-y', '--no-install-recommends'],
  dnf: ['install', '-y'],
  apk: ['add'],
  zypper: ['--non-interactive', 'install'],
  pacman: ['-S', '--noconfirm', '--needed'],
}

/**
 * Sandboxes need bubblewrap. Root gets it where a package manager has it; for everyone else, and where that fails, the
 * daemon starts all the same and says what to install.
 */
export function installBubblewrap() {
  if (isOnPath('bwrap') || process.getuid?.() !== 0) return
  const [manager, args] = Object.entries(managers).find(([name]) => isOnPath(name)) ?? []
  if (manager === undefined || args === undefined) return
  console.error(`Installing bubblewrap, which sandboxes need (${manager}) …`)
  const install = [...args, 'bubblewrap']
  if (run(manager, install) || (manager === 'apt-get' && run(manager, ['update']) && run(manager, install))) return
  console.error(`That failed; to see why, run: ${[manager, ...install].join(' ')}`)
}

/**
 * @param {string} command
 * @param {string[]} args
 */
const run = (command, args) =>
  spawnSync(command, args, {
    stdio: 'ignore',
    timeout: 120_000,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status === 0
