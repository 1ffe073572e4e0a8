import { toAwError } from '../../../domain/errors.ts'
import { profileOf } from '../../../domain/workspace/profiles.ts'
import type { SetupPlan, TemplateSetup } from '../../../domain/sources/template-setup.ts'
import type { Template } from '../../../domain/sources/templates.ts'
import type { Source } from '../../../domain/workspace/state.ts'
import type { FileHandle } from '../../../ports/files.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { basePlace, hasBases } from '../../sources/base-trees.ts'
import type { Core, Request } from '../../core.ts'
import { openTree } from '../../kernel/trees.ts'
import { addedSince, fingerprintOf, type Fingerprint } from './fingerprint.ts'
import { inputFiles, keyOf, sourceHash } from './inputs.ts'
import { runSetup } from './run-commands.ts'

interface Subject {
  readonly name: string
  readonly version: number
  /** The tree that has its content, and that nobody else sees. */
  readonly place: Place
  readonly source: Source
  readonly profile: string
  readonly plan: SetupPlan
  readonly last: Template | undefined
  /** Run it in any case. */
  readonly again: boolean
}

/** Brings a tree to what its set-up makes of it: by running that, or by taking over what the last one made. */
export async function setUp(core: Core, request: Request, subject: Subject): Promise<TemplateSetup> {
  const { name: template, version, place, profile, plan, last, again } = subject
  request.onProgress?.({ phase: 'looking through the source' })
  const before = await takeFingerprint(core, request, place)
  const files = inputFiles(before, plan.inputs, profile)
  const source = sourceHash(before, subject.source, profile)
  const key = keyOf({ plan, profile, files, source, owner: core.storage.capabilities.owner ?? null })
  const earlier = last?.setup ?? undefined
  if (!again && earlier !== undefined && key !== null && earlier.key === key) {
    const taken = await takeOver(core, request, place, { source, base: last?.base ?? '', earlier })
    if (taken) return { ...earlier, ...plan, files, source }
  }
  const ran = await runSetup(core, request, { template, place, profile, plan })
  const added = await findAdded(core, request, place, profile, before)
  return { ...plan, key, source, files, added, version, ...ran }
}

async function takeFingerprint(core: Core, request: Request, place: Place): Promise<Fingerprint> {
  using tree = await openTree(core, place)
  return await fingerprintOf(tree, request)
}

/** What is aw's own is made anew in each workspace, whatever was put there. */
async function findAdded(core: Core, request: Request, place: Place, profile: string, before: Fingerprint) {
  request.onProgress?.({ phase: 'looking at what was made' })
  using tree = await openTree(core, place)
  tree.remove(profileOf(profile).metadata, { recursive: true, missing: 'ignore' })
  return await addedSince(tree, before, request)
}

interface Earlier {
  readonly source: string | null
  readonly base: string
  readonly earlier: TemplateSetup
}

/**
 * The same source: all is as in the last version. Another one with the same inputs: what was added then is laid over it,
 * if nothing else was done to the tree then and there is room for it now. False if it has to be run.
 */
async function takeOver(
  core: Core,
  request: Request,
  place: Place,
  { source, base, earlier }: Earlier,
): Promise<boolean> {
  if (!(await core.storage.exists(basePlace(base)))) return false
  const { added } = earlier
  // Where a tree from another is a copy of it, only what was added is copied if that is possible.
  if (source !== null && source === earlier.source && (hasBases(core) || added === null)) {
    await core.storage.erase(place)
    await core.storage.create(place, { from: basePlace(base), signal: request.signal })
    return true
  }
  if (added === null || !(await hasRoom(core, place, added))) return false
  for (const path of added) {
    const isDirectory = path.endsWith('/')
    const name = isDirectory ? path.slice(0, -1) : path
    const from = { place: basePlace(base), path: Buffer.from(name).toString('latin1') }
    await core.storage.import(place, from, {
      into: isDirectory ? name : parentOf(name),
      signal: request.signal,
      onProgress: (done) => request.onProgress?.({ phase: 'taking over the last set-up', ...done }),
    })
  }
  return true
}

const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')

/** Every directory is there where something is to be put, and nothing has its name. */
async function hasRoom(core: Core, place: Place, added: readonly string[]): Promise<boolean> {
  using tree = await openTree(core, place)
  return added.every((path) => {
    const names = path.replace(/\/$/, '').split('/')
    const above = names.slice(1).map((_, i) => names.slice(0, i + 1).join('/'))
    return above.every((one) => kindAt(tree, one) === 'directory') && kindAt(tree, names.join('/')) === undefined
  })
}

function kindAt(tree: FileHandle, path: string): string | undefined {
  try {
    return tree.stat(path, { follow: false }).kind
  } catch (error) {
    if (['file_not_found', 'not_a_directory'].includes(toAwError(error).code)) return undefined
    throw error
  }
}
