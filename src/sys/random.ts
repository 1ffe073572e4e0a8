import { randomBytes } from 'node:crypto'

const atOnce = 4096
let pool = Buffer.alloc(0)

/** Random bytes for names and ids. Asked for by the page: the kernel takes as long for ten as for thousands. */
export function randomFew(bytes: number): Buffer {
  if (bytes > atOnce) return randomBytes(bytes)
  if (pool.length < bytes) pool = randomBytes(atOnce)
  const few = Buffer.from(pool.subarray(0, bytes))
  pool = pool.subarray(bytes)
  return few
}
