import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { inRoot, root } from '../../../tools/root.ts'
import { oldNode } from '../old-node.ts'

export type Who = 'root' | 'an ordinary user'

const nobody = 65_534

export interface Running extends AsyncDisposable {
  readonly stdout: Readable
  readonly stderr: Readable
}

/** A machine with git, an old Node and npm, as somebody sees it who has just cloned the project. */
export interface BareMachine extends AsyncDisposable {
  readonly home: string
  /** Runs a line of the user's shell in the clone. */
  sh(line: string): { code: number | null; stdout: string; stderr: string }
  /** The same, for a program that goes on until it is disposed of. */
  start(line: string): Running
}

/**
 * A mount namespace whose `/usr` lacks what only our own set-up, or a developer, would have installed: it is taken away
 * for real, so that nothing can find it anywhere.
 */
export async function bareMachine(who: Who): Promise<BareMachine> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bare-'))
  const [clone, home] = [join(folder, 'clone'), join(folder, 'home')]
  execFileSync('chmod', ['0755', folder])
  cloneTo(clone)
  mkdirSync(home)
  if (who !== 'root') {
    chownSync(home, nobody, nobody)
    execFileSync('chown', ['-R', `${nobody}:${nobody}`, clone])
  }
  const holder = spawn('unshare', ['--mount', 'bash', '-ec', withoutPrograms(join(folder, 'usr'))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(createInterface(holder.stdout), 'line')
  const user = who === 'root' ? [] : ['setpriv', '--reuid', `${nobody}`, '--regid', `${nobody}`, '--clear-groups']
  const inside = ['--mount', `--target=${holder.pid}`, `--wd=${clone}`, '--', ...user, 'sh', '-c']
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(AW_|NODE_|VITEST|XDG_|npm_(?!config_registry$))/.test(name)),
    ),
    HOME: home,
    PATH: [dirname(oldNode(folder)), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  }
  return {
    home,
    sh(line) {
      const { status, stdout, stderr } = spawnSync('nsenter', [...inside, line], { encoding: 'utf8', env })
      return { code: status, stdout, stderr }
    },
    start(line) {
      const child = spawn('nsenter', [...inside, `exec ${line}`], { env, detached: true })
      const { stdout, stderr } = child
      return { stdout, stderr, [Symbol.asyncDispose]: () => endGroup(child) }
    },
    async [Symbol.asyncDispose]() {
      const ended = once(holder, 'exit')
      holder.stdin.end()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The files that a clone of this checkout would have. */
function cloneTo(clone: string): void {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const path of list.toString().split('\0').filter(Boolean)) {
    if (existsSync(inRoot(path))) cpSync(inRoot(path), join(clone, path))
  }
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-Number(child.pid), 'SIGTERM')
  await ended
}

/** Ends when its input does, and the namespace with it. */
function withoutPrograms(scratch: string): string {
  const folders = ['bin', 'sbin', 'local/bin', 'local/sbin'].map((name) => `/usr/${name}`)
  const gone = hidden().flatMap((name) => folders.map((path) => `${path}/${name}`))
  return [
    'mount --make-rprivate /',
    `mkdir ${scratch}`,
    `mount -t tmpfs aw-bare ${scratch}`,
    `mkdir ${scratch}/upper ${scratch}/work`,
    `mount -t overlay -o lowerdir=/usr,upperdir=${scratch}/upper,workdir=${scratch}/work aw-bare /usr`,
    `rm -f ${gone.join(' ')}`,
    'hash -r',
    'echo ready',
    'read -r _ || true',
  ].join('\n')
}

/** What could install or build what is hidden, and browsers. */
const tools =
  'apt apt-get dpkg dnf apk zypper pacman docker podman mkfs mkfs.* mke2fs btrfs xfs_* cc c++ gcc* g++* *-gcc* clang* tcc ' +
  'make cmake cargo rustc go chromium* google-chrome* firefox*'

/** Everything that the set-up installs but git, and these. */
function hidden(): string[] {
  const packages = JSON.parse(readFileSync(inRoot('tools/debian-packages.json'), 'utf8')) as { command: string }[]
  return [...packages.map(({ command }) => command).filter((command) => command !== 'git'), ...tools.split(' ')]
}
