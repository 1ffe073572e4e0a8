import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { checkedShortName } from '../../domain/names.ts'
import { commandText } from '../../domain/sources/template-setup.ts'
import { checkedVariables, findTemplate, type Template } from '../../domain/sources/templates.ts'
import { assertAccess } from '../../domain/workspace/allow.ts'
import { repositoryField, type Source } from '../../domain/workspace/state.ts'
import type { Lock } from '../../ports/host.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { withoutAgentBlocks } from '../workspaces/agent-blocks.ts'
import { eraseBase, freezeBase, lockGroup, nextNumber, usersOf } from '../sources/base-trees.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { applySubstitutions } from './rendered-files.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { omissionsField } from '../snapshots/omissions.ts'
import { removePlaceholders } from '../sandboxes/placeholders.ts'
import { placeholdersIn } from './variables.ts'
import { withFrozen } from '../snapshots/current-state.ts'
import { withScratch } from '../files/scratch.ts'
import { setupWalls } from './setup/box.ts'
import { planSetup } from './setup/plan.ts'
import { assertEnforceable } from '../sandboxes/plan.ts'
import { closeLostSetups, dropOldLogs } from './setup/records.ts'
import { setUp } from './setup/set-up.ts'
import { operandOf } from '../diff/operands.ts'
import { fillWithoutBase } from '../sources/content.ts'
import { startFromSource, type StartPoint, resolveStart } from '../sources/resolve.ts'
import { templatesOf } from './template-tree.ts'
import { openTree } from '../kernel/trees.ts'

type View = Outputs['template show']

const groupOf = (name: string): string => `template-${name}`

export async function createTemplate(core: Core, input: Inputs['template create'], request: Request): Promise<View> {
  const name = checkedShortName(input.name, 'a template')
  using _ = await lockGroup(core, request, groupOf(name))
  if ((await templatesOf(core)).has(name))
    throw new AwError('template_exists', `There is a template ${name} already`, {
      hint: `Make its next version: aw template update ${name} --from …`,
      data: { template: name },
    })
  return await save(core, request, input, name, undefined)
}

export async function updateTemplate(core: Core, input: Inputs['template update'], request: Request): Promise<View> {
  using _ = await lockTemplate(core, request, input.name)
  const last = findTemplate(await templatesOf(core), input.name)
  return await save(core, request, input, last.name, last)
}

/** Of one that is there: what is locked is a name that was checked, without the version, whatever the caller wrote. */
async function lockTemplate(core: Core, request: Request, ref: string): Promise<Lock> {
  const { name } = findTemplate(await templatesOf(core), ref)
  return lockGroup(core, request, groupOf(name))
}

/** What is not said is as in the last version. */
async function save(
  core: Core,
  request: Request,
  input: Inputs['template update'],
  name: string,
  last: Template | undefined,
): Promise<View> {
  // Those that were removed, or never finished, are not used again: workspaces may have begun as them.
  const version = await nextNumber(core, groupOf(name))
  const base = `${groupOf(name)}-${version}`
  const variables = input.variables === undefined ? (last?.variables ?? {}) : checkedVariables(input.variables)
  const description = input.description ?? last?.description ?? ''
  const plan = await planSetup(core, input, last?.setup ?? null)
  const wanted = profileOf(input.profile ?? last?.profile ?? core.config.settings['workspaces.profile']).name
  if (plan !== null) {
    await closeLostSetups(core, request)
    await assertEnforceable(core, setupWalls(plan), wanted)
  }
  try {
    await withScratch(core, request, async (place) => {
      const { source, profile } = await fillScratch(core, request, input, place, last, wanted, plan !== null)
      const names = Object.keys(variables)
      const inSource = plan === null ? undefined : await findPlaceholders(core, place, names)
      const again = input.setup_again === true
      const setup =
        plan === null ? null : await setUp(core, request, { name, version, place, source, profile, plan, last, again })
      // What a set-up brings along is not ours to fill in.
      const files = await findPlaceholders(core, place, names, inSource)
      await core.storage.sync(place)
      await freezeBase(core, request, place, base, { group: groupOf(name), profile, source, imported: null })
      const data = { name, version, base, profile, description, source, variables, files, setup }
      await appendHome(core, newEvent(core, request, 'template_saved', data))
    })
  } finally {
    if (plan !== null) await dropOldLogs(core)
  }
  return showTemplate(core, { name })
}

async function findPlaceholders(core: Core, place: Place, names: readonly string[], among?: readonly string[]) {
  using tree = await openTree(core, place)
  return placeholdersIn(tree, names, among)
}

/** The content of a template in a tree of its own; of a workspace all but what aw itself puts into it. */
async function fillScratch(
  core: Core,
  request: Request,
  input: Inputs['template update'],
  place: Place,
  last: Template | undefined,
  profile: string,
  isSetUp: boolean,
): Promise<{ source: Source; profile: string }> {
  // These are the gaps of the new template, and say nothing about what it is made from.
  const { variables: _, ...source } = input
  const asked = await resolveStart(core, source)
  const isAsked = 'fork' in asked || asked.source.kind !== 'empty' || input.from === 'empty'
  const start = isAsked || last === undefined ? asked : startFromSource(last.source)
  if (!('fork' in start)) {
    if (start.source.kind === 'empty') throw nothing(input.name)
    return { source: await fillWithoutBase(core, request, start.source, profile, place, start.access), profile }
  }
  return fromWorkspace(core, request, start, place, isSetUp)
}

async function fromWorkspace(
  core: Core,
  request: Request,
  { fork, at }: Extract<StartPoint, { fork: string }>,
  place: Place,
  isSetUp: boolean,
): Promise<{ source: Source; profile: string }> {
  const side = await operandOf(core, at === undefined ? fork : `${fork}@${at}`)
  if (isSetUp) assertAccess(side.workspace, 'execute')
  return withFrozen(core, request, side, async ({ place: frozen, name: snapshot, left_out }) => {
    const { id, task, agent, profile } = side.workspace
    await core.storage.create(place, { from: frozen, signal: request.signal })
    await removePlaceholders(core, place, { workspace: side.workspace, place: frozen })
    await applySubstitutions(core, place, { workspace: side.workspace, place: frozen })
    await withoutAgentBlocks(core, place, side.workspace)
    using tree = await openTree(core, place)
    tree.remove(profileOf(profile).metadata, { recursive: true, missing: 'ignore' })
    const source: Source = {
      kind: 'workspace',
      workspace: id,
      name: `${task}/${agent}`,
      snapshot: snapshot as SnapshotId,
      at: core.clock.now().toISOString(),
      ...omissionsField(left_out),
      ...repositoryField(side.workspace),
    }
    return { source, profile }
  })
}

const nothing = (name: string): AwError =>
  new AwError('invalid_input', 'A template of nothing is of no use', {
    hint: `Say what it is made from: aw template create ${name} --from DIR`,
    data: { field: 'from' },
  })

export async function listTemplates(core: Core): Promise<readonly View[]> {
  const all = [...(await templatesOf(core)).values()]
  return all
    .flatMap((versions) => versions.slice(-1).map((newest) => view(newest, versions)))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

export async function showTemplate(core: Core, input: Inputs['template show']): Promise<View> {
  const all = await templatesOf(core)
  const found = findTemplate(all, input.name)
  return view(found, all.get(found.name) ?? [])
}

const view = (template: Template, versions: readonly Template[]): View => ({
  ...template,
  source: { ...template.source },
  versions: versions.map(({ version }) => version),
  setup: template.setup && setupView(template.setup, template.version),
})

function setupView(setup: NonNullable<Template['setup']>, version: number): NonNullable<View['setup']> {
  const { commands, inputs, files, isolation, network, limits, ran_at, duration_ms, version: ranFor } = setup
  return {
    commands: commands.map(commandText),
    inputs,
    files,
    source_hash: setup.source,
    isolation,
    network: network.mode,
    allow: network.mode === 'allowlist' ? network.allow : [],
    limits,
    ran_at,
    duration_ms,
    ran_for: ranFor,
    reused: ranFor !== version,
  }
}

/** Bases that workspaces began as stay as long as those do. */
export async function removeTemplate(
  core: Core,
  input: Inputs['template remove'],
  request: Request,
): Promise<Outputs['template remove']> {
  using _ = await lockTemplate(core, request, input.name)
  const all = await templatesOf(core)
  const found = findTemplate(all, input.name)
  const { name } = found
  const gone = input.name.includes('@') ? [found] : (all.get(name) ?? [])
  const version = input.name.includes('@') ? found.version : null
  await appendHome(core, newEvent(core, request, 'template_removed', { name, version }))
  for (const { base } of gone)
    if ((await usersOf(core, base)).length === 0) await eraseBase(core, request, base, 'user')
  await dropOldLogs(core)
  return { removed: gone.map((one) => one.version) }
}
