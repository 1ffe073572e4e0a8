import { defaultLimits } from '../../domain/archive/limits.ts'
import type { Archives } from '../../ports/archives.ts'
import { fileDigest } from '../../sys/archive/digest.ts'
import { inspectArchive } from '../../sys/archive/inspect.ts'
import { packTree } from '../../sys/archive/pack.ts'
import { unpackArchive } from '../../sys/archive/unpack.ts'

/** Tar files, compressed with zstd, that hold the hashes of what is in them. Other tar files can be read as well. */
export const tarArchives: Archives = {
  digest: fileDigest,

  async about(file) {
    for await (const told of inspectArchive(file)) if ('header' in told) return told.header
    return null
  },

  async unpack(file, directory, { maxBytes, trusted = false, ...waiting }) {
    const limits = { ...defaultLimits, bytes: Math.min(maxBytes, defaultLimits.bytes) }
    const { files, bytes, verified, skipped } = await unpackArchive(file, directory, { limits, trusted, ...waiting })
    return { files, bytes, verified, skipped }
  },

  async pack(directory, file, { about, ...options }) {
    const { entries, bytes, digest } = await packTree(directory, file, { header: about, ...options })
    return { files: entries, bytes, digest }
  },
}
