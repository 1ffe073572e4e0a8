import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What was seen of one load and the pictures that were taken of its disk. */
export interface Outcome {
  /** How the load ended. */
  readonly code: number | null
  readonly lines: number
  readonly taken: readonly { readonly clone: string; readonly acknowledged: number; readonly until: number }[]
  /** A picture of the disk has what nobody had flushed: then it is none of a disk that lost its machine. */
  readonly keepsUnflushed: boolean
  readonly cuts: Cut[]
}

export interface Cut {
  readonly problems: readonly string[]
  /** What was looked at. */
  readonly counts: Readonly<Record<'workspaces' | 'trees' | 'snapshots' | 'recovered', number>>
}

/** The devices go with the mounts, and the mounts with the namespace, however the program in it ends. */
const script = `
truncate -s 8G "$1/image"
mkfs.xfs -q -m reflink=1 "$1/image"
loop=$(losetup --find --show --direct-io=on "$1/image")
mount -o noatime "$loop" "$1/outer" || { losetup --detach "$loop"; exit 1; }
losetup --detach "$loop"
rm "$1/image"
shift
exec "$@"`

const program = fileURLToPath(new URL('cuts.ts', import.meta.url))

/** Lets the power fail so many times under load. Needs root. */
export function cutPower(driver: string, cuts: number, seed: number): Outcome {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-power-'))
  try {
    fs.mkdirSync(join(base, 'outer'))
    const command = [process.execPath, program, base, driver, `${cuts}`, `${seed}`]
    const { stdout, stderr, status } = spawnSync('unshare', ['--mount', 'sh', '-ec', script, 'sh', base, ...command], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: base },
      maxBuffer: 2 ** 28,
    })
    if (status !== 0) throw new Error(`${driver}, seed ${seed}: ${stderr}${stdout}`)
    return JSON.parse(stdout) as Outcome
  } finally {
    fs.rmSync(base, { recursive: true })
  }
}
