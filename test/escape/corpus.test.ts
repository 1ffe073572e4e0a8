import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { runOnImage } from '../storage/on-image.ts'
import { attacks } from './corpus.ts'
import { wallsFile, wallsPage } from './page.ts'

const programs = fileURLToPath(new URL('programs/', import.meta.url))
const compiler = 'musl-gcc'
let tools: string

beforeAll(() => {
  tools = mkdtempSync(join(tmpdir(), 'aw-escape-tools-'))
  chmodSync(tools, 0o755)
  const sources = readdirSync(programs)
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(programs, name))
  execFileSync(compiler, ['-static', '-O1', '-Wall', '-Wextra', '-Werror', '-o', join(tools, 'attack'), ...sources])
  chmodSync(join(tools, 'attack'), 0o755)
  copyFileSync(join(tools, 'attack'), join(tools, 'setuid'))
  chmodSync(join(tools, 'setuid'), 0o4755)
  execFileSync('mknod', ['-m', '0666', join(tools, 'device'), 'c', '1', '5'])
})
afterAll(() => rmSync(tools, { recursive: true, force: true }))

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

function guards(): string[] {
  const name = `aw-escape-${process.pid}`
  const made = [
    ['pids', 'pids.max', '3000'],
    ['memory', 'memory.limit_in_bytes', String(4 * 2 ** 30)],
  ].map(([controller = '', file = '', value = '']) => {
    const group = `/sys/fs/cgroup/${controller}/${name}`
    mkdirSync(group)
    execFileSync('sh', ['-c', 'echo "$1" > "$2"', 'sh', value, join(group, file)])
    return group
  })
  return made
}

test('the published table is that of the attacks', () => {
  const page = readFileSync(wallsFile, 'utf8')
  expect(page).toBe(wallsPage(page))
})

test('every attack has a name of its own', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
})

describe('the escape corpus', () => {
  it.each(['root', 'an ordinary user'] as const)('as %s: 0 unexpected', (as) => {
    const groups = guards()
    try {
      const { passed, failures } = runOnImage({
        fileSystem: 'ext4',
        as,
        files: ['test/escape/corpus.inside.ts'],
        env: { AW_ESCAPE_TOOLS: tools },
        wrap: ['unshare', '--net', 'sh', '-c', around, 'sh', ...groups],
      })
      expect(failures).toEqual([])
      expect(passed).toBe(attacks.length * 4)
    } finally {
      for (const group of groups) rmdirSync(group)
    }
  })
})
