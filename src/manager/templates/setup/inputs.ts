import { AwError } from '../../../domain/errors.ts'
import { compileGlob } from '../../../domain/sources/glob.ts'
import { profileOf } from '../../../domain/workspace/profiles.ts'
import { hashOf, type SetupPlan } from '../../../domain/sources/template-setup.ts'
import type { Source } from '../../../domain/workspace/state.ts'
import type { Fingerprint } from './fingerprint.ts'

const maxFiles = 1000

/**
 * The files that patterns mean, by their paths below the content, with their hashes. A pattern that means a directory
 * means all in it. One that means nothing is a mistake, and told.
 */
export function inputFiles(tree: Fingerprint, patterns: readonly string[], profile: string): Record<string, string> {
  const { content } = profileOf(profile)
  const start = content === '.' ? '' : `${content}/`
  const files: Record<string, string> = {}
  const paths = [...tree.entries.keys()].filter((path) => path.startsWith(start))
  for (const pattern of patterns) {
    const glob = compileGlob(bytes(pattern.replace(/^\.?\//, '').replace(/\/$/, '')), true)
    const meant = new Set<string>()
    for (const path of paths) {
      const below = path.slice(start.length)
      const parent = below.slice(0, Math.max(0, below.lastIndexOf('/')))
      if (meant.has(parent) || glob.matches(bytes(below))) meant.add(below)
    }
    if (meant.size === 0)
      throw wrong(`The set-up is to depend on ${JSON.stringify(pattern)}, and there is no such file`)
    for (const path of meant) {
      const [kind, mode, hash] = (tree.entries.get(`${start}${path}`) ?? '').split(' ')
      if (kind === 'directory') continue
      // Whether it may be executed matters; else the hash alone is shown, as others would compute it.
      files[path] = kind === 'file' ? `${hash}${Number(mode) & 0o100 ? ' x' : ''}` : `${kind} ${mode}`
    }
  }
  if (Object.keys(files).length > maxFiles)
    throw wrong(`The set-up is to depend on more than ${maxFiles} files; leave the patterns out to depend on all`)
  return files
}

const bytes = (text: string): string => Buffer.from(text).toString('latin1')

const wrong = (message: string): AwError =>
  new AwError('invalid_input', message, {
    hint: 'Patterns are counted from the top of the source: package-lock.json, packages/*/package.json, **/*.lock',
    data: { field: 'setup_input' },
  })

/** Of the whole tree. What git keeps for itself differs from clone to clone: there the commit tells. */
export function sourceHash(tree: Fingerprint, source: Source, profile: string): string | null {
  if (!tree.complete) return null
  const { content } = profileOf(profile)
  const repository = content === '.' ? '.git' : `${content}/.git`
  const isGit = source.kind === 'git'
  const entries = [...tree.entries].filter(
    ([path]) => !isGit || (path !== repository && !path.startsWith(`${repository}/`)),
  )
  const git = isGit ? [source.commit, source.full_ref, source.refs] : []
  return hashOf([entries.toSorted(([one], [other]) => (one < other ? -1 : 1)), git])
}

interface Decisive {
  readonly plan: SetupPlan
  readonly profile: string
  readonly files: Readonly<Record<string, string>>
  readonly source: string | null
  /** Whom the tree belongs to. */
  readonly owner: number | null
}

/** Two set-ups with one key would do the same. Null if that cannot be told. */
export function keyOf({ plan, profile, files, source, owner }: Decisive): string | null {
  const { commands, inputs, isolation, network, mount } = plan
  if (inputs.length === 0 && source === null) return null
  return hashOf([commands, inputs, isolation, network, mount, profile, owner, inputs.length === 0 ? source : files])
}
