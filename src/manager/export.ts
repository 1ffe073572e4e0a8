import type { Inputs, Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { profileOf } from '../domain/profiles.ts'
import { nameOf, ofRepository, type Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import type { Core, Request } from './core.ts'
import { differs } from './diff.ts'
import { withWorkspace } from './operations.ts'
import { snapshotPlace } from './places.ts'
import { withScratch } from './scratch.ts'
import { sideOf, type Side } from './sides.ts'
import { takeSnapshot } from './snapshot.ts'
import { wholeLayout } from './sources.ts'
import { create } from './start.ts'
import type { WorkspaceView } from './view.ts'

export async function exportArchive(core: Core, input: Inputs['export'], request: Request): Promise<Outputs['export']> {
  const side = await sideOf(core, input.of)
  const { workspace } = side
  const { place: frozen, name: snapshot } = await frozenOf(core, request, side)
  const packed = await withScratch(core, request, async (place) => {
    await core.storage.create(place, {
      from: frozen,
      signal: request.signal,
      onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
    })
    await core.storage.ready(place)
    return core.archives.pack(core.storage.attachment(place).path, input.file, {
      about: aboutOf(core, workspace, snapshot),
      exclude: [profileOf(workspace.profile).metadata],
      replace: input.replace,
      signal: request.signal,
      onProgress: (done) => request.onProgress?.({ phase: 'packing', ...done }),
    })
  })
  return { file: input.file, workspace: nameOf(workspace), snapshot, ...packed }
}

/** Without the time of it: the same state twice gives the same file. */
const aboutOf = (core: Core, workspace: Workspace, snapshot: string) => ({
  layout: wholeLayout,
  name: nameOf(workspace),
  workspace: workspace.id,
  snapshot,
  profile: workspace.profile,
  driver: core.storage.name,
  ...ofRepository(workspace),
})

/** The frozen tree that is meant; of a workspace as it is now its head, if it still is that, else a new one. */
export async function frozenOf(core: Core, request: Request, { place, workspace: found }: Side): Promise<Frozen> {
  if (place.area !== 'volumes') return { place, name: place.name }
  const snapshot = await withWorkspace(core, request, found.id, async (workspace) => {
    const { head } = workspace
    if (head !== null && !(await differs(core, workspace, head))) return head
    const plan = { label: null, meta: { for: 'export' }, key: null, reason: 'auto' as const }
    return (await takeSnapshot(core, request, workspace, plan)).snapshot.snapshot
  })
  return { place: snapshotPlace(snapshot), name: snapshot }
}

interface Frozen {
  readonly place: Place
  /** A snapshot's id, or the name of a base. */
  readonly name: string
}

export async function importArchive(core: Core, input: Inputs['import'], request: Request): Promise<WorkspaceView> {
  const { file, id, labels, trust } = input
  const about = await core.archives.about(file)
  const name = id ?? (typeof about?.['name'] === 'string' ? about['name'] : undefined)
  if (name === undefined)
    throw new AwError('invalid_input', 'The archive does not say what workspace it was', {
      hint: 'Name the new one: aw import FILE TASK/AGENT',
      data: { field: 'id' },
    })
  return create(core, { id: name, from: { archive: file, trust }, labels }, request)
}
