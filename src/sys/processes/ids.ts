import { readFileSync } from 'node:fs'

/** Whether a number is a user's and a group's id for this process: a user namespace may have but a few. */
export const hasId = (id: number): boolean => ['uid_map', 'gid_map'].every((map) => isIn(map, id))

/** Whether this process has all ids there are, as outside of every user namespace. */
export const hasAllIds = (): boolean =>
  idMap('uid_map').every(([first, outside, count]) => first === outside && count === allIds)

/** Whether root here is somebody else outside: of a user namespace of its own, as of a container without root. */
export const isNamespacedRoot = (): boolean =>
  process.getuid?.() === 0 && idMap('uid_map').some(([first, outside]) => first === 0 && outside !== 0)

/** What tells namespaces of users apart. */
export const idsKey = (): string => idMap('uid_map').join(' ')

const allIds = 2 ** 32 - 1

const isIn = (map: string, id: number): boolean =>
  idMap(map).some(([first, , count]) => id >= first && id < first + count)

type IdMap = readonly (readonly [first: number, outside: number, count: number])[]

/** A process has the same for life: who makes a namespace for itself does so before it runs anything of ours. */
const known = new Map<string, IdMap>()

const idMap = (name: string): IdMap => {
  const found = known.get(name) ?? readMap(name)
  known.set(name, found)
  return found
}

/** Each line is a first id, what it is outside, and how many there are. */
function readMap(name: string): IdMap {
  const lines = readFileSync(`/proc/self/${name}`, 'latin1').trim().split('\n')
  return lines.map((line) => {
    const [first = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number)
    return [first, outside, count] as const
  })
}
