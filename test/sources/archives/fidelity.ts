/** Trees of every kind, as `fidelity_cases.py` makes them: what an archive must bring back. */
import { isRoot } from '../../contracts/storage/host.ts'

const everybody = [
  'contents',
  'holes',
  'modes',
  'times',
  'links',
  'hard_links',
  'attributes',
  'acls',
  'empty_directories',
  'repositories',
  'names',
  'deep',
  'locked',
  'specials',
]
const onlyRoot = ['owners', 'privileged_attributes', 'devices', 'whiteouts']

export const fidelityCases = [...everybody, ...(isRoot ? onlyRoot : [])]

type Told = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Sockets are no part of an archive. */
export const withoutSockets = (told: Told): Told =>
  Object.fromEntries(Object.entries(told).filter(([, { kind }]) => kind !== 'socket'))

/** XFS shows each ACL as an attribute of its own too. */
export const sameAttributes = (told: Told): Told =>
  Object.fromEntries(
    Object.entries(told).map(([path, { attributes, ...about }]) => {
      const named = Object.entries(attributes as Record<string, string>)
      return [path, { ...about, attributes: Object.fromEntries(named.filter(([name]) => !name.includes('SGI_ACL'))) }]
    }),
  )
