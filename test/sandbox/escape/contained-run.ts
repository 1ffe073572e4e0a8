/** Runs attacks where they can do no harm, however they end. Needs root. */
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Results, runOnImage } from '../../storage/on-image.ts'

const programs = fileURLToPath(new URL('programs/', import.meta.url))
const compiler = 'musl-gcc'

export interface Tools extends Disposable {
  readonly path: string
}

/** The program of attacks; the same with the rights of root; and a device. */
export function makeTools(): Tools {
  const path = mkdtempSync(join(tmpdir(), 'aw-escape-tools-'))
  chmodSync(path, 0o755)
  const sources = readdirSync(programs)
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(programs, name))
  execFileSync(compiler, ['-static', '-O1', '-Wall', '-Wextra', '-Werror', '-o', join(path, 'attack'), ...sources])
  chmodSync(join(path, 'attack'), 0o755)
  copyFileSync(join(path, 'attack'), join(path, 'setuid'))
  chmodSync(join(path, 'setuid'), 0o4755)
  execFileSync('mknod', ['-m', '0666', join(path, 'device'), 'c', '1', '5'])
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/**
 * A network of their own, with the address of a metadata service in it; and cgroups that hold whatever gets out of its
 * box to what the machine can bear.
 */
const around = `
set -e
ip link set lo up
ip addr add 169.254.169.254/32 dev lo
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
for group in "$1" "$2"; do shift; [ ! -d "$group" ] || echo $$ > "$group/cgroup.procs"; done
exec "$@"`

interface EscapeRun {
  readonly tools: Tools
  readonly as: 'root' | 'an ordinary user'
  readonly file: string
  readonly only?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

export function runAttacks({ tools, as, file, only, env }: EscapeRun): Results {
  const groups = guards()
  try {
    return runOnImage({
      fileSystem: 'ext4',
      as,
      files: [`test/sandbox/escape/${file}.inside.ts`],
      only,
      env: { AW_ESCAPE_TOOLS: tools.path, ...env },
      wrap: ['unshare', '--net', 'sh', '-c', around, 'sh', ...groups],
    })
  } finally {
    for (const group of groups) rmdirSync(group)
  }
}

function guards(): string[] {
  const bounds = [
    ['pids', 'pids.max', '3000'],
    ['memory', 'memory.limit_in_bytes', String(4 * 2 ** 30)],
  ] as const
  return bounds.map(([controller, file, value]) => {
    const group = `/sys/fs/cgroup/${controller}/aw-escape-${process.pid}`
    mkdirSync(group)
    execFileSync('sh', ['-c', 'echo "$1" > "$2"', 'sh', value, join(group, file)])
    return group
  })
}
