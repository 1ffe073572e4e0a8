import { hash } from 'node:crypto'

/**
 * SHA-256 of a text's UTF-8 bytes, in hex. Node's own takes 5 ms to load, a tenth of a command that appends two events:
 * so the first few short texts of a process are hashed here, and everything else there. The results are the same.
 */
export function sha256(text: string): string {
  if (left === 0 || text.length > longest) return hash('sha256', text)
  left -= 1
  return digest(Buffer.from(text)).toString('hex')
}

let left = 6
const longest = 4096

/**
 * As FIPS 180-4 has it, and with its names. It runs a few times in a process, by the interpreter: that is why it is one
 * loop, with every rotation written out.
 */
export function digest(message: Uint8Array): Buffer {
  const padded = pad(message)
  const schedule = new Int32Array(64)
  const word = (at: number): number => padded.readInt32BE(at)
  const state = Int32Array.from(initial)
  for (let block = 0; block < padded.length; block += 64) {
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
    for (let t = 0; t < 64; t++) {
      let w: number
      if (t < 16) w = word(block + 4 * t)
      else {
        const x = schedule[t - 15] as number
        const y = schedule[t - 2] as number
        const sigma0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
        const sigma1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
        w = ((schedule[t - 16] as number) + sigma0 + (schedule[t - 7] as number) + sigma1) | 0
      }
      schedule[t] = w
      const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
      const t1 = (h + sum1 + ((e & f) ^ (~e & g)) + (constants[t] as number) + w) | 0
      const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
      const t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c))
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + t2) | 0
    }
    for (const [place, more] of [a, b, c, d, e, f, g, h].entries()) state[place] = (state[place] ?? 0) + more
  }
  const result = Buffer.alloc(32)
  for (const [place, value] of state.entries()) result.writeInt32BE(value, 4 * place)
  return result
}

/** A one bit, zeros up to the end of a block, and in its last eight bytes how many bits there were. */
function pad(message: Uint8Array): Buffer {
  const padded = Buffer.alloc(64 * Math.ceil((message.length + 9) / 64))
  padded.set(message)
  padded[message.length] = 0x80
  padded.writeBigUInt64BE(8n * BigInt(message.length), padded.length - 8)
  return padded
}

/** The first 32 bits behind the point of the roots of the first primes. */
const primes = firstPrimes(64)
const behindPoint = (root: number): number => Math.floor((root % 1) * 2 ** 32)
const constants = Int32Array.from(primes, (prime) => behindPoint(Math.cbrt(prime)))
const initial = Int32Array.from(primes.slice(0, 8), (prime) => behindPoint(Math.sqrt(prime)))

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let number = 2; found.length < count; number++)
    if (found.every((prime) => number % prime !== 0)) found.push(number)
  return found
}
