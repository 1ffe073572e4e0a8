import { type SubvolumeInfo, subvolumeInfo } from './ioctls.ts'
import { ITEM, searchObject, searchTree, TREE } from './search.ts'

const UUID_TREE = 9n
const UUID_SUBVOLUME = 251

/** A subvolume had these contents up to the end of a transaction. */
interface Ancestor {
  readonly uuid: string
  readonly until: bigint
}

/** What a subvolume was made from, and in which transaction. */
export type Origin = Pick<SubvolumeInfo, 'parentUuid' | 'made'>

/** What is still known of subvolumes that are gone, by uuid. */
export type ErasedOrigins = (uuid: string) => Origin | undefined

/**
 * The transaction that two subvolumes were last the same in: both were made, by way of others perhaps, from one. What
 * neither has written since is the same in both, with the same inode numbers. Undefined if they have no common origin,
 * or it cannot be told any more because what lies between was erased and forgotten. Only root can tell.
 */
export function lastCommonTransaction(one: number, other: number, erased: ErasedOrigins): bigint | undefined {
  const ways = [ancestors(one, erased), ancestors(other, erased)] as const
  const seen = [new Map<string, bigint>(), new Map<string, bigint>()] as const
  // Both ways up at once: the origin is mostly near, and a chain of forks may be long.
  for (const done = new Set<number>(); done.size < 2;) {
    for (const side of [0, 1] as const) {
      const { value, done: ended } = ways[side].next()
      if (ended === true) {
        done.add(side)
        continue
      }
      seen[side].set(value.uuid, value.until)
      const there = seen[1 - side]?.get(value.uuid)
      if (there !== undefined) return there < value.until ? there : value.until
    }
  }
  return undefined
}

const none = '0'.repeat(32)
const now = 0xffff_ffff_ffff_fffen

function* ancestors(fd: number, erased: ErasedOrigins): Generator<Ancestor, undefined> {
  const self = subvolumeInfo(fd)
  yield { uuid: self.uuid, until: now }
  let here: Origin | undefined = self
  while (here !== undefined && here.parentUuid !== none) {
    yield { uuid: here.parentUuid, until: here.made }
    here = find(fd, here.parentUuid) ?? erased(here.parentUuid)
  }
  return undefined
}

function find(fd: number, uuid: string): Origin | undefined {
  const bytes = Buffer.from(uuid, 'hex')
  const key = { object: bytes.readBigUInt64LE(0), type: UUID_SUBVOLUME, offset: bytes.readBigUInt64LE(8) }
  for (const { data } of searchTree(fd, UUID_TREE, { from: key, to: key })) {
    for (const { data: root } of searchObject(fd, TREE.ROOT, data.readBigUInt64LE(0), ITEM.ROOT_ITEM)) {
      return { parentUuid: root.toString('hex', 263, 279), made: root.readBigUInt64LE(303) }
    }
  }
  return undefined
}
