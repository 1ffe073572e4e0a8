import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How often a program and its children wait for the disk, counted by strace; undefined where there is none. */
export function fsyncsOf(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  const trace = join(tmpdir(), `aw-bench-${process.pid}.trace`)
  const calls = 'trace=fsync,fdatasync,syncfs,sync'
  try {
    const { status } = spawnSync('strace', ['-f', '-qq', '-e', calls, '-o', trace, ...command], { env: { ...env } })
    if (status !== 0) return undefined
    const lines = readFileSync(trace, 'utf8').split('\n')
    return lines.filter((line) => /\b(f(data)?sync|sync(fs)?)\(/.test(line)).length
  } finally {
    rmSync(trace, { force: true })
  }
}

export const fsyncNote = (count: number | undefined): string =>
  count === undefined ? 'fsyncs not counted: strace is missing' : `${count} fsyncs`
