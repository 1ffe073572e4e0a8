/** Ids are a prefix and 26 characters of Crockford base 32: 48 bits of time, then 80 random bits, so they sort by age. */

export type WorkspaceId = `ws_${string}`
export type EventId = `ev_${string}`
export type OperationId = `op_${string}`
export type SnapshotId = `snap_${string}`
export type LeaseId = `ls_${string}`
export type BoxId = `box_${string}`
export type CommandId = `cmd_${string}`
export type RunId = `run_${string}`
export type TokenId = `tok_${string}`

export type Prefix = 'ws' | 'ev' | 'op' | 'ls' | 'cor' | 'snap' | 'box' | 'cmd' | 'run' | 'tok'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** @param random ten random bytes */
export function makeId<P extends Prefix>(prefix: P, timeMs: number, random: Uint8Array): `${P}_${string}` {
  return `${prefix}_${encodeTime(timeMs)}${encodeRandom(random)}`
}

const workspaceId = /^ws_[0-9a-hjkmnp-tv-z]{26}$/

export const isWorkspaceId = (text: string): text is WorkspaceId => workspaceId.test(text)

const runId = /^run_[0-9a-hjkmnp-tv-z]{26}$/

export const isRunId = (text: string): text is RunId => runId.test(text)

const leaseId = /^ls_[0-9a-hjkmnp-tv-z]{26}$/

export const isLeaseId = (text: string): text is LeaseId => leaseId.test(text)

const snapshotId = /^snap_[0-9a-hjkmnp-tv-z]{26}$/

export const isSnapshotId = (text: string): text is SnapshotId => snapshotId.test(text)

function encodeTime(timeMs: number): string {
  let rest = timeMs
  let out = ''
  for (let i = 0; i < 10; i++) {
    out = (alphabet[rest % 32] ?? '0') + out
    rest = Math.floor(rest / 32)
  }
  return out
}

function encodeRandom(random: Uint8Array): string {
  let out = ''
  let bits = 0
  let value = 0
  for (const byte of random.subarray(0, 10)) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out += alphabet[(value >>> bits) & 31] ?? '0'
    }
    value &= (1 << bits) - 1
  }
  return out
}
