import type { ArchiveHeader } from '../../../domain/archive/header.ts'
import { type ArchiveLimits, defaultLimits } from '../../../domain/archive/limits.ts'
import type { Member } from '../../../domain/archive/member.ts'
import type { Sink } from '../../../domain/archive/read-archive.ts'
import { asText } from '../../../domain/archive/refusals.ts'
import { openSource, readChunks, type ReadOptions, readSource } from './source.ts'

type Options = Omit<ReadOptions, 'limits'> & { readonly limits?: Partial<ArchiveLimits> | undefined }

export interface Verified {
  /** False: it is not ours, so there is nothing to compare it with; it can be read to its end. */
  readonly verified: boolean
  readonly header: ArchiveHeader | null
  readonly entries: number
  /** Of all files, without holes. */
  readonly bytes: number
  readonly digest: string
}

/** Reads all of it and compares it with its manifest. Nothing is written. Throws as unpacking does. */
export async function verifyArchive(file: string | number, options: Options = {}): Promise<Verified> {
  using source = openSource(file)
  const reading = { ...options, limits: { ...defaultLimits, ...options.limits } }
  const outcome = await readSource(source, { begin: () => undefined }, reading)
  return { verified: outcome.header !== null, ...outcome }
}

/** An entry as it stands in the archive. */
export type ListedMember = Omit<Member, 'attributes' | 'major' | 'minor'> & { readonly attributes: readonly string[] }

type InspectedItem = { readonly header: ArchiveHeader | null } | { readonly entry: ListedMember }

/** The header first, or null; then one entry after the other. Nothing is proved before the end is reached without error. */
export async function* inspectArchive(
  file: string | number,
  options: Options = {},
): AsyncGenerator<InspectedItem, void, void> {
  using source = openSource(file)
  const waiting: InspectedItem[] = []
  const sink: Sink = {
    header: (header) => void waiting.push({ header }),
    begin({ member }) {
      waiting.push({ entry: listed(member) })
      return undefined
    },
  }
  const reading = readChunks(source, sink, { ...options, limits: { ...defaultLimits, ...options.limits } })
  for await (const _ of reading) yield* waiting.splice(0)
  yield* waiting
}

const listed = ({ path, target, attributes, major: _major, minor: _minor, ...rest }: Member): ListedMember => ({
  ...rest,
  path: asText(path),
  target: asText(target),
  attributes: [...attributes.keys()].map(asText),
})
