import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { parseGitRef } from '../../domain/git/ref.ts'
import { isCleanGitUrl } from '../../domain/git/url.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { findTemplate, variableValues } from '../../domain/sources/templates.ts'
import { repositoryField, type Source } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { templatesOf } from '../templates/template-tree.ts'
import { workspaceLayout } from './workspace-archive.ts'

type Creation = Pick<
  Inputs['create'],
  'from' | 'repo' | 'ref' | 'full' | 'from_workspace' | 'at' | 'exclude' | 'ignored' | 'template' | 'variables'
>
type From = Exclude<NonNullable<Creation['from']>, 'empty'>

/** How a new workspace begins. */
export type StartPoint =
  | {
      readonly source: Source
      /** The url as it was given, with what is needed to get in: it is in no event. */
      readonly access?: string | undefined
      /** The layout that it has already. */
      readonly profile?: string | undefined
    }
  /** As another one is, or was. */
  | { readonly fork: string; readonly at?: string | undefined }

/** What a caller asked for, in one of the ways to say it: `from`, or a field of its own for each kind of source. */
export async function resolveStart(core: Core, input: Creation): Promise<StartPoint> {
  const from = asked(input)
  const [kind, ...others] = kinds.filter((name) => from[name] !== undefined)
  if (others.length > 0)
    throw wrong(
      `A workspace begins as one thing, not as ${[kind, ...others].map((name) => name && nouns[name]).join(' and ')}`,
    )
  for (const [field, of] of Object.entries(sourceOfOption))
    if (from[field as keyof From] !== undefined && of !== kind) throw optionWithoutSource(field, of)
  // A value that nobody fills in is one that somebody will look for.
  if (kind !== 'template' && Object.keys(input.variables ?? {}).length > 0)
    throw optionWithoutSource('variables', 'template')
  if (from.git !== undefined) return gitStart(core, from.git)
  if (from.folder !== undefined) return { source: folderSource(from) }
  if (from.archive !== undefined) return archiveStart(core, from)
  if (from.workspace !== undefined) return { fork: from.workspace, at: from.at }
  if (from.snapshot !== undefined) return { fork: from.snapshot }
  if (from.template !== undefined) return templateStart(core, from.template, input.variables)
  if (typeof input.from === 'object')
    throw wrong(`from has none of ${kinds.slice(0, -1).join(', ')}: to begin empty, leave it out`)
  return { source: { kind: 'empty' } }
}

/** Where something came from, as it is now. */
export function startFromSource(source: Source): StartPoint {
  switch (source.kind) {
    case 'workspace':
      return { fork: source.workspace }
    case 'git': {
      const { kind, url, ref, shallow } = source
      return { source: { kind, url, ref, shallow } }
    }
    case 'archive': {
      const { base: _, digest: __, verified: ___, ...asked } = source
      return { source: asked }
    }
    default:
      return { source }
  }
}

const kinds = ['git', 'folder', 'archive', 'workspace', 'snapshot', 'template'] as const
type Kind = (typeof kinds)[number]
const sourceOfOption: Partial<Record<keyof From, Kind>> = {
  exclude: 'folder',
  ignored: 'folder',
  trust: 'archive',
  at: 'workspace',
}
const nouns: Readonly<Record<Kind, string>> = {
  git: 'a repository',
  folder: 'a folder',
  archive: 'an archive',
  workspace: 'another workspace',
  snapshot: 'a snapshot',
  template: 'a template',
}

function asked(input: Creation): From {
  const { from, repo, ref, full, from_workspace: workspace, at, exclude, ignored, template } = input
  const given = from === undefined || from === 'empty' ? {} : from
  const flags = Object.fromEntries(
    Object.entries({ workspace, at, exclude, ignored, template }).filter(([, value]) => value !== undefined),
  )
  if (from === 'empty' && [repo, workspace, template].some((one) => one !== undefined))
    throw wrong('Empty, or from something?')
  if (given.template !== undefined && template !== undefined) throw wrong('The template is given twice', 'template')
  if (repo === undefined) {
    if (ref !== undefined || full !== undefined) throw optionWithoutSource(ref === undefined ? 'full' : 'ref', 'git')
    return { ...given, ...flags }
  }
  if (given.git !== undefined) throw wrong('The repository is given twice', 'repo')
  const git = { url: repo, ...(ref !== undefined && { ref }), ...(full !== undefined && { shallow: !full }) }
  return { ...given, ...flags, git }
}

async function templateStart(core: Core, ref: string, variables: Creation['variables'] = {}): Promise<StartPoint> {
  const template = findTemplate(await templatesOf(core), ref)
  const { name, version, base, profile } = template
  const values = variableValues(template, variables)
  return { source: { kind: 'template', name, version, variables: values, base, ...repositoryField(template) }, profile }
}

async function gitStart(core: Core, { url: given, ref, shallow }: NonNullable<From['git']>): Promise<StartPoint> {
  const { settings } = core.config
  const wanted = ref ?? (settings['git.default_branch'] || null)
  parseGitRef(wanted)
  const url = await core.repositories.identify(given)
  const source: Source = { kind: 'git', url, ref: wanted, shallow: shallow ?? settings['git.shallow'] }
  // A path is what it was a moment ago: not where a link to it may lead by now.
  return { source, ...(url.startsWith('/') ? {} : { access: given }) }
}

/** One that aw made holds a whole workspace and knows its layout; any other is content for one. */
async function archiveStart(core: Core, { archive = '', trust }: From): Promise<StartPoint> {
  const path = absolute(archive, 'from.archive')
  const about = await core.archives.about(path)
  const trusted = trust === true && { trusted: true }
  const profile = about?.['profile']
  if (about?.['layout'] !== workspaceLayout || typeof profile !== 'string')
    return { source: { kind: 'archive', path, ...trusted } }
  const source: Source = { kind: 'archive', path, ...trusted, whole: true, ...repositoryIn(about) }
  return { source, profile: profileOf(profile).name }
}

/** What an archive says is anybody's word: it is recorded if it could have been ours. */
function repositoryIn({ repository: url }: Readonly<Record<string, unknown>>): { repository?: string } {
  if (typeof url !== 'string' || !isCleanGitUrl(url)) return {}
  return { repository: url }
}

function folderSource({ folder = '', exclude, ignored }: From): Source {
  return {
    kind: 'folder',
    path: absolute(folder, 'from.folder'),
    ...(exclude !== undefined && { exclude }),
    ...(ignored !== undefined && { ignored }),
  }
}

function absolute(path: string, field: string): string {
  if (path.startsWith('/') && !path.includes('\0')) return path
  throw wrong(`${field} must be an absolute path, not ${JSON.stringify(path.slice(0, 200))}`, field)
}

const asFlag: Readonly<Record<Kind, string>> = {
  git: '--repo URL, which a path can be too',
  folder: '--from PATH',
  archive: '--from PATH',
  workspace: '--from-workspace NAME',
  snapshot: '--from-workspace NAME --at SNAPSHOT',
  template: '--template NAME',
}

/** Something was said about a kind of source, and the workspace does not begin as one. */
const optionWithoutSource = (field: string, of: Kind): AwError =>
  wrong(
    `${field} ${field === 'variables' ? 'say' : 'says'} something about ${nouns[of]}, and none was given`,
    field,
    `It is given with ${asFlag[of]}. See: aw create --help`,
  )

const wrong = (message: string, field = 'from', hint = 'See: aw create --help'): AwError =>
  new AwError('invalid_input', message, { hint, data: { field } })
