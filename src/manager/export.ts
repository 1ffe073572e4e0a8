import type { Inputs, Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { profileOf } from '../domain/profiles.ts'
import { nameOf } from '../domain/workspace/state.ts'
import type { Core, Request } from './core.ts'
import { frozenOf } from './present-state.ts'
import { withScratch } from './scratch.ts'
import { sideOf } from './sides.ts'
import { create } from './start.ts'
import type { WorkspaceView } from './view.ts'
import { aboutWhole } from './whole-archive.ts'

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
    using reached = await core.storage.reach(place)
    return await core.archives.pack(reached.path, input.file, {
      about: { ...aboutWhole(core, workspace), snapshot },
      exclude: [profileOf(workspace.profile).metadata],
      replace: input.replace,
      signal: request.signal,
      onProgress: (done) => request.onProgress?.({ phase: 'packing', ...done }),
    })
  })
  return { file: input.file, workspace: nameOf(workspace), snapshot, ...packed }
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
