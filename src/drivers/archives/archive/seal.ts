/**
 * The last bytes of an archive of ours: a frame that readers of zstd skip, with the SHA-256 of the whole file before it.
 * A changed, missing or added byte is noticed even where it would not change what is unpacked.
 */
const magic = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 40, 0, 0, 0, ...Buffer.from('aw-seal1')])

export const sealBytes = magic.length + 32

export const formatSeal = (digest: Buffer): Buffer => Buffer.concat([magic, digest])

/** The hash in it; undefined if these are no seal. */
export const parseSeal = (bytes: Buffer): Buffer | undefined =>
  bytes.length === sealBytes && bytes.subarray(0, magic.length).equals(magic) ? bytes.subarray(magic.length) : undefined
