import { readFileSync } from 'node:fs'

/** Whether a number is a user's and a group's id for this process: a user namespace may have but a few. */
export const hasId = (id: number): boolean => ['uid_map', 'gid_map'].every((map) => isIn(map, id))

/** Each line is a first id, what it is outside, and how many there are. */
function isIn(map: string, id: number): boolean {
  const lines = readFileSync(`/proc/self/${map}`, 'latin1').trim().split('\n')
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return id >= first && id < first + count
  })
}
