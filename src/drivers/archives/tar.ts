import { limitsForSpace } from '../../domain/archive/limits.ts'
import { AwError } from '../../domain/errors.ts'
import type { Archives } from '../../ports/archives.ts'
import { fileDigest, hasDigest } from './archive/digest.ts'
import { inspectArchive } from './archive/inspect.ts'
import { packTree } from './archive/pack.ts'
import { openSource } from './archive/source.ts'
import { unpackArchive } from './archive/unpack.ts'

/** Tar files, compressed with zstd, that hold the hashes of what is in them. Other tar files can be read as well. */
export const tarArchives: Archives = {
  digest: fileDigest,

  async about(file) {
    for await (const told of inspectArchive(file)) if ('header' in told) return told.header
    return null
  },

  async unpack(file, directory, { maxBytes, digest, trusted = false, ...waiting }) {
    // What was unpacked and what is hashed is one open file, whatever has that name by now.
    using source = openSource(file)
    const { files, bytes, verified, skipped, reduced } = await unpackArchive(source.fd, directory, {
      limits: limitsForSpace(maxBytes),
      trusted,
      ...waiting,
    })
    if (!(await hasDigest(source.fd, digest, waiting.signal)))
      throw new AwError('source_failed', `The archive ${file} is another one than it was`, {
        hint: 'Make a new workspace from it, or put the old file back',
        data: { file },
      })
    return { files, bytes, verified, skipped, reduced }
  },

  async pack(directory, file, { about, ...options }) {
    const { entries, bytes, sha256, digest } = await packTree(directory, file, { header: about, ...options })
    return { files: entries, bytes, digest: sha256, content_digest: digest }
  },
}
