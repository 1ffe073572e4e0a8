import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { isSnapshotId } from '../../domain/ids.ts'
import { formatName, parseName } from '../../domain/names.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { view } from '../kernel/view.ts'
import { createFrom } from '../workspaces/create.ts'
import { assertNameFree, type ForkPoint, forkPoint, forkSettings } from './fork-point.ts'
import { omissionsField } from './omissions.ts'
import { discardState } from './current-state.ts'

type Forks = Outputs['fork']

/**
 * One snapshot of the source, then a workspace for each name. Each succeeds or fails by itself; if none succeeds, the
 * source is as it was.
 */
export async function fork(core: Core, input: Inputs['fork'], request: Request): Promise<Forks> {
  assertNoSnapshot(input)
  const { id } = await findWorkspace(core, input.id)
  const given = givenNames(input)
  const [first] = given
  if (given.length === 1 && first !== undefined && input.count === undefined) await assertNameFree(core, first)
  const { origin, source, isNew, left_out } = await forkPoint(core, { ...input, id }, request)
  const { snapshot } = source
  const forks: Forks['forks'][number][] = []
  try {
    await forkAll(core, input, origin, source, given, request, forks)
    return { source: nameOf(origin), snapshot, ...omissionsField(left_out), forks }
  } finally {
    if (isNew && !forks.some(({ ok }) => ok)) await discardState(core, request, id, snapshot)
  }
}

/** @param forks how each ended, also if all of it is stopped */
async function forkAll(
  core: Core,
  input: Inputs['fork'],
  origin: Workspace,
  source: ForkPoint['source'],
  given: readonly string[],
  request: Request,
  forks: Forks['forks'][number][],
): Promise<void> {
  const numbered = input.count !== undefined || given.length === 0
  const total = numbered ? (input.count ?? 1) : given.length
  for await (const name of numbered ? freeNames(core, given[0] ?? nameOf(origin)) : given) {
    try {
      checkpointSignal(request)
      const settings = { ...(await forkSettings(core, origin, input)), id: name }
      const workspace = view(core, await createFrom(core, settings, source, request))
      forks.push({ name, ok: true, workspace, error: null })
      const { path } = workspace
      request.onProgress?.({ phase: 'forking', files: forks.length, made: { name, path } })
    } catch (error) {
      if (request.signal?.aborted && total > 1) throw stopped(error, forks, total, numbered ? [] : given)
      // Somebody else has taken the number meanwhile: the next one is as good.
      if (numbered && toAwError(error).code === 'workspace_exists') continue
      // A single one fails as a create does; of several each has its own result.
      if (total === 1) throw error
      forks.push(failed(name, error))
    }
    if (forks.length === total) break
  }
}

/** Those that are there stay. */
function stopped(error: unknown, forks: Forks['forks'], total: number, names: readonly string[]): AwError {
  const made = forks.filter(({ ok }) => ok).map(({ name }) => name)
  const others = names.filter((name) => !made.includes(name))
  const hints = [
    ...(made.length === 0 ? [] : [`Made, and kept: ${made.join(', ')}`]),
    ...(others.length === 0 ? [] : [`Not made: ${others.join(', ')}`]),
  ]
  return new AwError('aborted', `Stopped: ${made.length} of ${total} forks were made`, {
    hint: hints.join('. '),
    data: { made, asked: total },
    cause: error,
  })
}

/** `fix-login@head` is how two trees are compared. */
function assertNoSnapshot({ id }: Inputs['fork']): void {
  if (isSnapshotId(id))
    throw new AwError('invalid_input', 'That is a snapshot; a fork is named by the workspace', {
      hint: `aw create NAME --from-workspace ${id}`,
      data: { field: 'id' },
    })
  const cut = id.indexOf('@')
  if (cut === -1) return
  const [name, at] = [id.slice(0, cut), id.slice(cut + 1)]
  throw new AwError('invalid_input', `The snapshot to begin as is named apart from the workspace`, {
    hint: `aw fork ${name} --at ${at === '' ? 'SNAPSHOT' : at}`,
    data: { field: 'id' },
  })
}

function failed(name: string, error: unknown): Forks['forks'][number] {
  const { code, message, hint } = toAwError(error)
  return { name, ok: false, workspace: null, error: { code, message, hint: hint ?? null } }
}

function givenNames({ to = [], count }: Inputs['fork']): string[] {
  const names = to.map((name) => formatName(parseName(name)))
  if (count === undefined || names.length <= 1) return names
  throw new AwError('invalid_input', 'With a count there is one name, which is then numbered', {
    hint: 'Give names, or one name and a count',
    data: { field: 'count' },
  })
}

/** Numbered ones that nobody has, without end. */
async function* freeNames(core: Core, stem: string): AsyncGenerator<string> {
  for (let number = 1; ; number++) {
    const { task, agent } = parseName(`${stem}-${number}`)
    if ((await core.store.find(task, agent)) === undefined) yield `${task}/${agent}`
  }
}
