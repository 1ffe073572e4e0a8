import { createHash, hash } from 'node:crypto'
import { escapePath } from '../text/escape-path.ts'
import type { Member } from './member.ts'
import { attributeRecords, encodePax } from './pax.ts'

/**
 * The list of all that is in an archive, grown while it is written, and once more while it is read: then the two must be
 * the same bytes. `docs/spec/archive.md` describes it.
 */
export interface ManifestBuilder {
  /** @param content the hash of what is stored, of a file */
  add(member: Member, content: string): void
  /** All of it, and the hash in its last line. */
  seal(): { readonly bytes: Buffer; readonly digest: string }
}

const letters = { file: 'f', directory: 'd', symlink: 'l', hardlink: 'h', fifo: 'p', char: 'c', block: 'b' } as const

export function manifestLine(member: Member, content: string): string {
  const { path, kind, mode, uid, gid, mtimeNs, size, target, major, minor, attributes } = member
  // Another name of something that has been told.
  if (kind === 'hardlink') return `${escapePath(path)} h 0 0 0 0 0 ${escapePath(target)} -`
  const isDevice = kind === 'char' || kind === 'block'
  const what = isDevice ? `${major}:${minor}` : kind === 'symlink' ? escapePath(target) : content || '-'
  const about = `${letters[kind]} ${mode.toString(8)} ${uid} ${gid} ${mtimeNs} ${size}`
  return `${escapePath(path)} ${about} ${what} ${hashOfAttributes(attributes)}`
}

const hashOfAttributes = (attributes: Member['attributes']): string =>
  attributes.size === 0 ? '-' : hash('sha256', encodePax(attributeRecords(attributes)))

/** @param header the bytes of the first entry; undefined in an archive that is not ours */
export function newManifest(header: Buffer | undefined): ManifestBuilder {
  const parts: Buffer[] = []
  const sum = createHash('sha256')
  let lines = `aw-archive-manifest 1\nheader ${header === undefined ? '-' : hash('sha256', header)}\n`

  /** Bytes instead of many small strings: there may be millions. */
  const store = (): void => {
    const part = Buffer.from(lines, 'latin1')
    lines = ''
    sum.update(part)
    parts.push(part)
  }

  return {
    add(member, content) {
      lines += `${manifestLine(member, content)}\n`
      if (lines.length > 65_536) store()
    },
    seal() {
      store()
      const digest = sum.digest('hex')
      return { bytes: Buffer.concat([...parts, Buffer.from(`sha256 ${digest}\n`)]), digest }
    },
  }
}

/** What the line that a byte is in tells about, as it is written there. */
export function pathAt(manifest: Buffer, offset: number): string {
  const start = offset === 0 ? 0 : manifest.lastIndexOf(0x0a, offset - 1) + 1
  const [path = ''] = manifest.toString('latin1', start, Math.min(start + 65_536, manifest.length)).split(/[ \n]/, 1)
  return path
}
