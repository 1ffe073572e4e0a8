/** Which of many grounds a test stands on this time. All of them: `npm run prove`. */

export const takesAll = process.env['AW_ALL'] === '1'

/**
 * One of each group, drawn anew each time with a seed that is printed: whatever fails can be had again with AW_SEED. With
 * AW_ALL=1 all of them.
 */
export function drawn<T>(all: readonly T[], groupOf: (one: T) => string): T[] {
  if (takesAll) return [...all]
  const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
  const groups = Map.groupBy(all, groupOf)
  const chosen = [...groups.values()].map((group, at) => group[(seed + at) % group.length] as T)
  console.log(`AW_SEED=${seed}: ${JSON.stringify(chosen)}`)
  return chosen
}

type User = 'root' | 'an ordinary user'

/** As whom something is tried whose two kinds of user differ little. */
export const someUser = (what: string): User[] =>
  drawn<{ what: string; as: User }>(
    [
      { what, as: 'root' },
      { what, as: 'an ordinary user' },
    ],
    () => what,
  ).map(({ as }) => as)

/** One with the driver that everybody has, and one of the others. */
export const twoDrivers = ({ driver }: { readonly driver: string }): string => (driver === 'dir' ? 'dir' : 'another')
