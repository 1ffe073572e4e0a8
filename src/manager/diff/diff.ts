import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { gitPatch, isInsideDotGit, linesIn, type PatchSide } from '../../domain/git/patch.ts'
import { quotePath } from '../../domain/paths.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { isText } from '../../domain/text/diff.ts'
import type { Change, ChangeEntry } from '../../domain/trees/diff.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baselineOf, isOutsideBaseline, withContents, type Baseline } from './baseline.ts'
import type { Core, Request } from '../core.ts'
import type { VisibleChange } from './visible-changes.ts'
import { changeView, isBelow, pathChanges, shownPath } from './differences.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { readKnownFile, type KnownTree } from '../kernel/known-tree.ts'
import { changesBetween } from '../sandboxes/placeholders.ts'
import { volumeOf } from '../kernel/places.ts'
import { checkedPaths } from '../snapshots/restore-paths.ts'
import { operandOf } from './operands.ts'
import { existsAt } from '../kernel/trees.ts'

type View = Outputs['diff']

export async function* diff(core: Core, input: Inputs['diff'], request: Request): AsyncGenerator<View> {
  const paths = input.paths === undefined ? null : checkedPaths(input.paths)
  await using between = await sides(core, input, request)
  const { from, to } = between
  if (paths !== null) await assertPresent(core, between, paths)
  let left = input.limit ?? Infinity
  for await (const change of changesBetween(core, from, to, { signal: request.signal })) {
    checkpointSignal(request)
    const steps = pathChanges(change)
    if (isOutsideBaseline(between, change)) continue
    if (!steps.some(([path]) => isBelow(path, paths))) continue
    const view = viewOf(change)
    const isRead = input.text === true || input.stat === true
    yield isRead ? { ...view, ...asked(await textOf(core, between, change, input), input) } : view
    left -= 1
    if (left <= 0) return
  }
}

/** The text, or what it comes to. */
const asked = ({ text, ...about }: Partial<View>, input: Inputs['diff']): Partial<View> => ({
  ...about,
  ...(text !== undefined && input.text === true && { text }),
  ...(text !== undefined && input.stat === true && { lines: linesIn(text) }),
})

const viewOf = ({ what, before, after, ...change }: Change): View => ({
  ...changeView(change),
  what,
  before: before && shownEntry(before),
  after: after && shownEntry(after),
})

const shownEntry = ({ target, ...entry }: ChangeEntry): ChangeEntry =>
  target === undefined ? entry : { ...entry, target: shownPath(target) }

interface Sides extends AsyncDisposable, Pick<Baseline, 'unknown'> {
  readonly from: KnownTree
  readonly to: KnownTree
}

/** A workspace alone is compared with what it began as. */
async function sides(core: Core, input: Inputs['diff'], request: Request): Promise<Sides> {
  const from = await operandOf(core, input.from)
  const { workspace } = from
  if (input.to === undefined) assertAllowed(workspace, 'files_read')
  const to = input.to === undefined ? { workspace, place: volumeOf(workspace) } : await operandOf(core, input.to)
  if (input.to === undefined && from.place.area === 'volumes') {
    const { unknown, place, contents, ...held } = await baselineOf(core, request, workspace)
    return { from: { workspace, place, contents }, to, ...(unknown !== undefined && { unknown }), ...held }
  }
  const [old, now] = [await withContents(core, request, from), await withContents(core, request, to)]
  return { from: old, to: now, [Symbol.asyncDispose]: () => allGone(old, now) }
}

async function allGone(...held: readonly AsyncDisposable[]): Promise<void> {
  for (const one of held) await one[Symbol.asyncDispose]()
}

/** A path that neither side has is a slip; in most layouts the files are one level down. */
async function assertPresent(core: Core, between: Sides, paths: readonly string[]): Promise<void> {
  const isThere = async (path: string): Promise<boolean> =>
    (await existsAt(core, between.from.place, path)) || (await existsAt(core, between.to.place, path))
  for (const path of paths) {
    if (await isThere(path)) continue
    const inside = `${profileOf(between.to.workspace.profile).content}/${path}`
    throw new AwError('file_not_found', `Neither side has ${quotePath(path)}`, {
      hint: (await isThere(inside)) ? `Did you mean ${inside}?` : 'Paths begin at the root of the workspace',
      data: { path },
    })
  }
}

type Known = ChangeEntry & { readonly kind: 'file' | 'symlink' }

/** Of directories, pipes and devices git knows nothing. */
const known = (entry: ChangeEntry | null): entry is Known => entry?.kind === 'file' || entry?.kind === 'symlink'

/** Texts of both sides, read one file at a time. */
async function textOf(
  core: Core,
  { from, to }: Sides,
  change: VisibleChange,
  input: Inputs['diff'],
): Promise<Partial<View>> {
  const { path, before, after, what, bare } = change
  const old = known(before) ? { ...before, tree: from, path: change.from ?? path } : null
  const now = known(after) ? { ...after, tree: to, path } : null
  if (old === null && now === null) return {}
  if (isInsideDotGit(path)) return { omitted: 'git applies nothing below .git' }
  // What is equal need not be read.
  const isSame = old !== null && now !== null && !what.some((one) => ['content', 'kind', 'target'].includes(one))
  const maxBytes = input.max_bytes ?? 1024 * 1024
  try {
    const [a, b] = isSame
      ? [nothing, nothing]
      : [bare?.before ?? (await bytesOf(core, old, maxBytes)), bare?.after ?? (await bytesOf(core, now, maxBytes))]
    if (!isText(a) || !isText(b)) return { binary: true }
    const side = (one: typeof old, text: Buffer): PatchSide | null => one && { ...one, text: text.toString() }
    return { text: gitPatch(side(old, a), side(now, b)) }
  } catch (error) {
    const { code, message } = toAwError(error)
    // A live tree may have lost it since.
    if (code === 'file_too_large' || code === 'file_not_found' || code === 'not_a_file') return { omitted: message }
    throw error
  }
}

const nothing = Buffer.alloc(0)

async function bytesOf(core: Core, one: (Known & { tree: KnownTree; path: string }) | null, maxBytes: number) {
  if (one === null) return nothing
  if (one.kind === 'symlink') return Buffer.from(one.target ?? '', 'latin1')
  return readKnownFile(core, one.tree, one.path, { maxBytes })
}
