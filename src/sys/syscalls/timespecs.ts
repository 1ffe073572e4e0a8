const second = 1_000_000_000n

/** As `struct timespec` has them, one behind the other. */
export function timespecs(...times: readonly bigint[]): Buffer {
  const buffer = Buffer.alloc(16 * times.length)
  for (const [i, ns] of times.entries()) {
    // Rounded down, also before 1970.
    const rest = ((ns % second) + second) % second
    buffer.writeBigInt64LE((ns - rest) / second, 16 * i)
    buffer.writeBigInt64LE(rest, 16 * i + 8)
  }
  return buffer
}
