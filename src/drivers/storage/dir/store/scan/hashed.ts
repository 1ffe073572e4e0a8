import { hash as hashOf } from 'node:crypto'
import * as fs from 'node:fs'
import { hashSteps } from '../../../../../sys/trees/content-hash.ts'
import type { scanTree } from './scan.ts'

/** For a look at what is not kept. */
export function* hashed(fd: number): ReturnType<Parameters<typeof scanTree>[1]['read']> {
  const got = fs.readSync(fd, small, 0, small.length, 0)
  // Most files end here, at a fraction of the cost.
  if (got < small.length) return { content: got === 0 ? '' : hashOf('sha256', small.subarray(0, got)), bytes: got }
  const { hash, bytes } = yield* hashSteps(fd)
  return { content: bytes === 0 ? '' : hash, bytes }
}

/** One block: what is shorter has no block of zeros in it. */
const small = Buffer.allocUnsafeSlow(64 * 1024)
