import { existsSync, globSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { checkBoxes } from './boxes.ts'
import { checkSetups, isOfSetup } from './setups.ts'

/**
 * Log == read model == disk == kernel, for the whole home, while nobody works in it. The disk is read here by hand: what is
 * checked must not check itself.
 */
export async function checkHome(home: string, manager: Manager): Promise<void> {
  const all = await manager.call('list', { all: true })
  expect(all.filter(({ operation }) => operation !== null)).toEqual([])
  const live = all.filter(({ state }) => state !== 'trashed' && state !== 'purged')
  const names = (directory: string): string[] => readdirSync(join(home, directory)).toSorted()
  const places = placesOf(home)

  const areas = await manager.call('shared list', {})
  const shared = areas.map(({ path }) => basename(readlinkSync(path ?? '')))
  expect(places('volumes')).toEqual([...live.map(({ id }) => id), ...shared].toSorted())
  const trees = places('trash').filter((name) => !name.startsWith('shared_'))
  expect(trees).toEqual(all.flatMap(({ trash }) => trash.map(({ tree }) => tree)).toSorted())
  const removed = (await manager.call('shared list', { trashed: true })).map(({ trash = '' }) => trash)
  expect(places('trash').filter((name) => name.startsWith('shared_'))).toEqual(removed.toSorted())
  expect(places('tmp')).toEqual([])
  const snapshots: string[] = []
  for (const { id } of all) for (const one of await manager.call('snapshots', { id })) snapshots.push(one.id)
  expect(places('snapshots')).toEqual(snapshots.toSorted())
  const runs = await runsOf(manager, all)
  // A prompt is kept only if it is to be, and a log only if it has begun. What was not finished goes with the run.
  expect(runs).toEqual(
    expect.arrayContaining(
      names('texts')
        .filter(isOfRun)
        .map((name) => name.replace(/\.json(\.new)?$/, '')),
    ),
  )
  const logs = existsSync(join(home, 'runs')) ? names('runs').filter((name) => !isOfSetup(name)) : []
  expect(runs).toEqual(expect.arrayContaining(logs))
  expect(names('texts').filter((name) => !isOfRun(name))).toEqual(
    all
      .filter(({ state, config }) => state !== 'purged' && (config as object as Texts).documents !== undefined)
      .map(({ id }) => `${id}.json`)
      .toSorted(),
  )
  expect(linksOf(home)).toEqual(
    Object.fromEntries(live.map(({ path, id }) => [path, join(home, 'storage/volumes', id)])),
  )
  for (const workspace of live) checkMetadata(workspace)
  await checkBases(manager, await ownBases(manager, all), () => places('bases'))
  const shelf = join(home, 'archives')
  const archives = existsSync(shelf) ? readdirSync(shelf).map((name) => join(shelf, name)) : []
  expect(archives.toSorted()).toEqual(all.flatMap((one) => one.archives.map(({ path }) => path)).toSorted())

  await checkBoxes(home, manager)
  await checkSetups(home, manager)
  const audit = await manager.call('audit verify', {})
  expect(audit).toMatchObject({ intact: true, problems: [] })
}

const isOfRun = (name: string): boolean => name.startsWith('run_')

async function runsOf(manager: Manager, all: Outputs['list']): Promise<string[]> {
  const found: string[] = []
  for (const { id, state } of all)
    if (state !== 'purged') for (const { run } of await manager.call('runs', { id })) found.push(run)
  return found
}

/** Those that one workspace began as, and no other: the last that the log tells of each. */
async function ownBases(manager: Manager, all: Outputs['list']): Promise<string[]> {
  const found: string[] = []
  for (const { id, state } of all) {
    let last: unknown
    if (state !== 'purged')
      for await (const { data } of manager.stream('events', {
        workspace: id,
        type: ['workspace_created', 'workspace_reset'],
      }))
        last = (data['source'] as { base?: unknown } | undefined)?.base
    if (typeof last === 'string' && last.startsWith('began-')) found.push(last)
  }
  return found
}

/** A write recovers the workspace that it touches; a base that was not finished is for `recover`. */
async function checkBases(manager: Manager, began: readonly string[], onDisk: () => string[]): Promise<void> {
  const known = async (): Promise<string[]> =>
    [...(await manager.call('bases list', {})).map(({ name }) => name), ...began].toSorted()
  const bases = await known()
  expect(onDisk()).toEqual(expect.arrayContaining(bases))
  if (onDisk().length > bases.length) await manager.call('recover', {})
  expect(onDisk()).toEqual(await known())
}

/** Trees are entries of their area; overlay's are records, since a tree of layers is no directory. */
function placesOf(home: string): (area: string) => string[] {
  const storage = join(home, 'storage')
  const records = join(storage, 'records')
  if (!existsSync(records)) return (area) => readdirSync(join(storage, area)).toSorted()
  return (area) =>
    readdirSync(records)
      .filter((name) => name.startsWith(`${area}.`))
      .map((name) => name.slice(area.length + 1))
      .toSorted()
}

interface Texts {
  documents?: unknown
}

/** What users find below the base path; a directory without a link in it would be a leftover. */
function linksOf(home: string): Record<string, string> {
  const base = join(home, 'workspaces')
  const links: Record<string, string> = {}
  for (const task of existsSync(base) ? readdirSync(base) : []) {
    const agents = readdirSync(join(base, task))
    expect(agents, `${task} is empty`).not.toEqual([])
    for (const agent of agents) {
      const path = join(base, task, agent)
      expect(lstatSync(path).isSymbolicLink()).toBe(true)
      links[path] = readlinkSync(path)
    }
  }
  return links
}

function checkMetadata({ path, task, agent, created_at }: Outputs['show']): void {
  const text = readFileSync(join(path, '.aw/workspace_config.json'), 'utf8')
  expect(JSON.parse(text)).toMatchObject({ task_id: task, agent_id: agent, workspace_path: path, created_at })
  expect(globSync(`${path}/**/.aw-*.tmp`)).toEqual([])
}

/** The read model is what a full fold makes of the log. */
export async function checkReadModel(manager: Manager): Promise<void> {
  const { findings } = await manager.call('doctor', { rebuild: true })
  const model = findings.find(({ name }) => name === 'read model')
  expect(model).toMatchObject({ status: 'ok', message: expect.stringMatching(/; 0 differed$/) as unknown })
}
