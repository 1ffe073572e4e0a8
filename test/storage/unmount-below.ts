import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'

/** Unmounts everything below a directory, as a reboot does; `how`: options of umount. */
export function unmountBelow(base: string, how: readonly string[] = []): void {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((point) => point.startsWith(`${base}/`))
  for (const point of points.toReversed()) {
    const { status, stderr } = spawnSync('umount', [...how, point], { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
  }
}

/**
 * Unmounts it all and lets it be removed: what overlay mounts trees on is immutable, and has no mode; a frozen tree of
 * btrfs is read-only.
 */
export function letGo(base: string, how: readonly string[] = []): void {
  unmountBelow(base, how)
  for (const frozen of globSync(`${base}/**/storage/{bases,snapshots,work}/*/`))
    spawnSync('btrfs', ['property', 'set', '-ts', frozen, 'ro', 'false'])
  spawnSync('find', [base, '-xdev', '-type', 'd', '-perm', '0', '-exec', 'chattr', '-f', '-i', '{}', '+'])
}
