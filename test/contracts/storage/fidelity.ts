import { expect, it } from 'vitest'
import { staged, volume, type OpenStorage, type StorageSubject } from '../storage.ts'
import { isRoot, makeCase, pathOf, tellTree, wreckTree, type Told } from './host.ts'
import { changes, fork, snap } from './trees.ts'

/**
 * By what it is called in `capabilities.unfaithful`, each with a tree in `fidelity_cases.py`. A driver that says it does
 * not keep something must indeed not keep it.
 */
const everybody = {
  contents: 'contents',
  holes: 'holes',
  'modes, with setuid, setgid and sticky': 'modes',
  'modification times': 'times',
  links: 'links',
  'hard links': 'hard_links',
  'extended attributes': 'attributes',
  ACLs: 'acls',
  'empty directories': 'empty_directories',
  'ignored files and nested repositories': 'repositories',
  'odd names': 'names',
  'paths that are too long for a call': 'deep',
  'what its owner may not read or write': 'locked',
  'attributes of what its owner may not read or write': 'locked_attributes',
  'pipes and sockets': 'specials',
  'attributes named user.overlay.*': 'overlay_attributes',
}
const onlyRoot = {
  owners: 'owners',
  'attributes of root': 'privileged_attributes',
  'attributes named trusted.overlay.*': 'overlay_attributes_of_root',
  devices: 'devices',
  'device number 0': 'whiteouts',
}

const cases = Object.entries({ ...everybody, ...(isRoot && onlyRoot) })

/** A snapshot, and a tree made from one, equals its origin: for drivers whose trees the host can see. */
export function fidelityContract(open: OpenStorage): void {
  it.each(cases)('keeps %s', async (what, name) => {
    const subject = await open()
    const { storage } = subject
    await storage.create(volume)
    const path = await pathOf(subject, volume)
    const isPromised = !storage.capabilities.unfaithful.some((said) => said.what === what)
    if (isPromised) await makeCase(name, path)
    else if (!(await canMake(name, path))) return
    const before = await tellTree(path)
    expect(await storage.snapshot(volume, snap(1))).toMatchObject({ consistency: 'atomic' })
    const unchanged = await tellTree(path)
    await storage.create(fork(1), { from: snap(1) })
    const forked = await tellTree(await pathOf(subject, fork(1)))
    const copied = await copyOf(subject)
    await wreckTree(path)
    const wrecked = await tellTree(path)
    expect(wrecked).not.toEqual(before)
    await storage.restore(volume, snap(1), snap(2))
    const restored = await tellTree(await pathOf(subject, volume))
    const left = await changes(subject, snap(1), volume)
    await storage.create(fork(2), { from: snap(2) })
    const kept = await tellTree(await pathOf(subject, fork(2)))
    const { problems } = await storage.verify(snap(1))

    const unfaithful = [
      ...differences('the volume after the snapshot', before, unchanged),
      ...differences('a fork', before, forked),
      ...differences('a copy', withoutTop(before), copied),
      ...differences('the volume after the restore', before, restored),
      ...differences('what the restore kept', wrecked, kept),
      ...left.map(({ path: at, change }) => `the difference after the restore: ${at} ${change}`),
      ...problems.map(({ path: at, message }) => `verify: ${at}: ${message}`),
    ]
    if (isPromised) expect(unfaithful).toEqual([])
    else expect(unfaithful).not.toEqual([])

    for (const place of await storage.list()) await storage.erase(place)
    expect(await storage.list()).toEqual([])
  })
}

/** Some of what is not kept cannot even be made. */
async function canMake(name: string, path: string): Promise<boolean> {
  try {
    await makeCase(name, path)
    return true
  } catch {
    return false
  }
}

async function copyOf(subject: StorageSubject): Promise<Told> {
  await subject.storage.create(staged)
  await subject.storage.import(staged, { place: snap(1) }, { into: 'in' })
  return withoutTop(await tellTree(`${await pathOf(subject, staged)}/in`))
}

function differences(where: string, expected: Told, seen: Told): string[] {
  const paths = [...new Set([...Object.keys(expected), ...Object.keys(seen)])]
  return paths.flatMap((path) => {
    const [wanted, found] = [expected[path] ?? {}, seen[path] ?? {}]
    const keys = [...new Set([...Object.keys(wanted), ...Object.keys(found)])]
    return keys
      .filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(found[key]))
      .map((key) => `${where}, ${path}: ${key} ${JSON.stringify(found[key])} instead of ${JSON.stringify(wanted[key])}`)
  })
}

/** The directory that a copy lands in is one of its own. */
const withoutTop = ({ '.': _, ...rest }: Told): Told => rest
