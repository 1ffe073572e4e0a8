import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { basePlace, basesOf, eraseBase, isOwnBase, lockGroup, usersOf } from './base-trees.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { templatesOf } from '../templates/template-tree.ts'

export async function listBases(core: Core, input: Inputs['bases list']): Promise<Outputs['bases list']> {
  const bases = await listable(core)
  return Promise.all(
    [...bases.values()].map(async ({ base, source, profile, created_at }) => ({
      name: base,
      source: { ...source },
      profile,
      created_at,
      used_by: await usersOf(core, base),
      bytes: input.sizes === true ? await sizeOf(core, base) : null,
    })),
  )
}

/** What a single workspace began as is part of that workspace: it goes with it, and only then. */
const listable = async (core: Core) => new Map([...(await basesOf(core))].filter(([base]) => !isOwnBase(base)))

const sizeOf = (core: Core, base: string): Promise<number | null> =>
  core.storage.usage(basePlace(base), { maxFiles: 20_000 }).then(
    ({ bytes }) => bytes,
    () => null,
  )

export async function removeBase(
  core: Core,
  input: Inputs['bases remove'],
  request: Request,
): Promise<Outputs['bases remove']> {
  if (input.name.length < 8)
    throw new AwError('invalid_input', 'That is too little of a name to tell which base is meant', {
      hint: 'Give at least 8 characters of it; see them with: aw bases list',
      data: { field: 'name' },
    })
  const bases = await listable(core)
  const meant = [...bases.values()].filter(({ base }) => base === input.name || base.startsWith(input.name))
  const [only] = meant
  if (only === undefined || (meant.length > 1 && !bases.has(input.name)))
    throw new AwError(
      'base_not_found',
      only === undefined ? `There is no base ${input.name}` : `${meant.length} bases begin with ${input.name}`,
      { hint: 'See them: aw bases list', data: { base: input.name } },
    )
  const { base, group } = bases.get(input.name) ?? only
  using _ = await lockGroup(core, request, group)
  await assertNoTemplate(core, base)
  if (input.force !== true) await assertUnused(core, base)
  await eraseBase(core, request, base, 'user')
  return { removed: base }
}

async function assertUnused(core: Core, base: string): Promise<void> {
  const users = (await core.store.list({ baseName: base })).filter(({ state }) => state !== 'purged')
  const [first] = users
  if (first === undefined) return
  const gone = users.filter(({ state }) => state === 'trashed')
  const [one] = gone
  const all = users.length === 1 ? 'A workspace' : `${users.length} workspaces`
  const where =
    one === undefined ? '' : gone.length === users.length ? ' in the trash' : ` (${gone.length} of them in the trash)`
  const which = users.length === 1 ? `: ${nameOf(first)}` : `, ${nameOf(first)} among them`
  const erase = one === undefined ? '' : `Erase what is in the trash: aw purge ${nameOf(one)}. `
  throw new AwError('base_in_use', `${all}${where} began as ${base}${which}`, {
    hint: `${erase}Remove it all the same with --force: they stay, but cannot be compared with it any more`,
    data: { base, used_by: users.map(nameOf), in_trash: gone.map(nameOf) },
  })
}

async function assertNoTemplate(core: Core, base: string): Promise<void> {
  const all = [...(await templatesOf(core)).values()].flat()
  const template = all.find((one) => one.base === base)
  if (template === undefined) return
  const ref = `${template.name}@${template.version}`
  throw new AwError('base_in_use', `${base} is the template ${ref}`, {
    hint: `Remove that: aw template remove ${ref}`,
    data: { base, template: ref },
  })
}
