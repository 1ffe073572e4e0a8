import { statfsSync } from 'node:fs'
import { AwError, toAwError } from '../../../domain/errors.ts'
import { sizeText } from '../../../domain/space/size.ts'
import { canLimit, deviceErrors } from '../btrfs/kernel/device.ts'
import type { Finding } from '../../../sys/home/inspect.ts'
import { usesDirectIo } from './loop.ts'
import { mountedAt } from './mount.ts'
import { freeIn, imageUsage } from './image.ts'
import { env, interrupted, missingTools, mountHint } from './pool.ts'
import { poolImage, readPool, type PoolRecord } from './record.ts'
import { findSystemProgram, run } from '../../../sys/processes/run.ts'

/** How a pool is doing. */

export function inspectPool(home: string, root: string): Finding[] {
  const record = readPool(home)
  if (record === undefined) return []
  const problem = (message: string, hint: string | null): Finding[] => [
    { name: 'pool', status: 'problem', message, hint },
  ]
  if (record.state !== 'ready') {
    const { message, hint = null } = interrupted(record.state)
    return problem(message, hint)
  }
  if (mountedAt(root)?.type !== 'btrfs') return problem(`the pool is not mounted at ${root}`, mountHint(home))
  try {
    return [mountedPool(home, root, record), hostSpace(home, record), errors(root)]
  } catch (error) {
    return problem(toAwError(error).message, null)
  }
}

function mountedPool(home: string, root: string, { bytes }: PoolRecord): Finding {
  const { bavail, bsize } = statfsSync(root)
  const notes = [
    canLimit(root) ? 'the kernel can hold trees to a size' : 'the kernel cannot hold trees to a size',
    ...(usesDirectIo(mountedAt(root)?.source ?? '') === false
      ? ['everything is cached twice, by the disk below too']
      : []),
  ]
  return {
    name: 'pool',
    status: 'ok',
    message: `${poolImage(home)}, mounted, ${sizeText(bytes)}, ${sizeText(bavail * bsize)} free; ${notes.join('; ')}`,
    hint: null,
  }
}

/** A sparse image grows as it is used; if the disk below it fills up first, writes in the pool fail for good. */
function hostSpace(home: string, { bytes }: PoolRecord): Finding {
  const [used, free] = [imageUsage(home), freeIn(home)]
  const short = Math.max(0, bytes - used) > free
  return {
    name: 'pool image',
    status: short ? 'warning' : 'ok',
    message: `takes up ${sizeText(used)} of the disk below it, where ${sizeText(free)} are free`,
    hint: short
      ? `It may grow to ${sizeText(bytes)}, for which there is no room: make room on that disk before the pool needs it`
      : null,
  }
}

function errors(root: string): Finding {
  const found = Object.entries(deviceErrors(root)).filter(([, count]) => count > 0)
  return {
    name: 'pool device',
    status: found.length === 0 ? 'ok' : 'problem',
    message: found.length === 0 ? 'no errors' : found.map(([kind, count]) => `${count} ${kind} errors`).join(', '),
    hint: found.length === 0 ? null : 'See which files are affected with: aw init --check; then: dmesg | grep -i btrfs',
  }
}

export interface Checked {
  /** False if something is damaged for good. */
  readonly ok: boolean
  readonly bytes: number
  readonly errors: number
  readonly repaired: number
}

/** Reads everything that a btrfs holds and compares it with its checksums. Takes as long as that takes. */
export async function checkBtrfs(root: string, signal?: AbortSignal): Promise<Checked> {
  const btrfs = findSystemProgram('btrfs')
  if (btrfs === undefined) throw missingTools('btrfs')
  const scrub = (...args: string[]): Promise<{ stdout: string }> =>
    run(btrfs, ['scrub', ...args, root], { cwd: '/', env, timeoutMs: 24 * 3_600_000, signal })
  const { stdout } = await scrub('start', '-B', '-R').catch((error: unknown) => {
    // It says so when something cannot be repaired; the numbers are then asked for.
    if (error instanceof AwError && error.data['exit_code'] === 3) return scrub('status', '-R')
    throw error
  })
  const count = (name: string): number => Number(new RegExp(String.raw`\b${name}:\s*(\d+)`).exec(stdout)?.[1] ?? 0)
  const sum = (...names: string[]): number => names.map(count).reduce((total, one) => total + one, 0)
  return {
    ok: count('uncorrectable_errors') === 0,
    bytes: sum('data_bytes_scrubbed', 'tree_bytes_scrubbed'),
    errors: sum('read_errors', 'csum_errors', 'verify_errors', 'super_errors'),
    repaired: count('corrected_errors'),
  }
}
