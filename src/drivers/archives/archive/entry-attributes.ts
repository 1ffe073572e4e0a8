import type { Member } from '../../../domain/archive/member.ts'
import type { EntryAttributes } from '../../../sys/trees/owner-and-mode.ts'
import { formatAttributes } from '../../../sys/trees/attributes.ts'

interface SanitizedAttributes {
  readonly looks: EntryAttributes
  /** What the archive says and nobody gets, in a word or two each. */
  readonly without: readonly string[]
}

/**
 * How an entry is to look. From somebody we do not trust nothing is taken over that gives rights, or that belongs to
 * another machine: owners are the tree's, files run with the rights of who runs them, and attributes are those of users.
 */
export function attributesFor(
  member: Member,
  trusted: boolean,
  owner: Pick<EntryAttributes, 'uid' | 'gid'>,
): SanitizedAttributes {
  const { kind, mode, mtimeNs, uid, gid, attributes } = member
  const pairs = [...attributes].map(([name, value]) => [name, Buffer.from(value, 'latin1')] as const)
  const about = { kind: kind === 'hardlink' ? 'file' : kind, mtimeNs } as const
  if (trusted) return { looks: { ...about, mode, uid, gid, attributes: formatAttributes(pairs) }, without: [] }
  const kept = pairs.filter(([name]) => isHarmless(name))
  const dropped = pairs.filter(([name]) => !isHarmless(name)).map(([name]) => `attribute ${name}`)
  const setId = kind === 'directory' ? 0 : mode & 0o6000
  return {
    looks: {
      ...about,
      // The top stays usable by whom it is unpacked for.
      mode: (mode & ~setId) | (member.path === '.' ? 0o700 : 0),
      uid: owner.uid,
      gid: owner.gid,
      attributes: formatAttributes(kept),
    },
    without: [...(setId === 0 ? [] : ['setuid']), ...dropped],
  }
}

/** Those of overlay are not the user's, though they look so: they change what a file system shows. */
const isHarmless = (name: string): boolean =>
  (name.startsWith('user.') && !name.startsWith('user.overlay.')) || name.startsWith('system.posix_acl_')
