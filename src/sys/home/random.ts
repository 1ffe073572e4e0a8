import { randomBytes } from 'node:crypto'
import { native } from '../syscalls/native.ts'

const atOnce = 4096
let pool: Buffer = Buffer.alloc(0)

/** Random bytes for names and ids. Asked for by the page: the kernel takes as long for ten as for thousands. */
export function pooledRandomBytes(bytes: number): Buffer {
  if (bytes > atOnce) return randomBytes(bytes)
  if (pool.length < bytes) pool = page()
  const few = Buffer.from(pool.subarray(0, bytes))
  pool = pool.subarray(bytes)
  return few
}

/** From the kernel itself where we can ask it: to load `node:crypto` takes 5 ms of a command. */
function page(): Buffer {
  const calls = native()
  const bytes = Buffer.alloc(atOnce)
  // A part that a signal left out is never told as random.
  return calls?.getrandom(bytes) === atOnce ? bytes : randomBytes(atOnce)
}
