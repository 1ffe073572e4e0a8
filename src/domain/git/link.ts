/**
 * A `.git` that is no directory: a file that names a repository, as in a linked work tree or a submodule, or a link to
 * one. Names and texts are bytes, one character each (latin1).
 */

/** What such a file names, as git reads it; undefined if it names nothing. */
export function gitFileTarget(text: string): string | undefined {
  const prefix = 'gitdir: '
  if (!text.startsWith(prefix)) return undefined
  const [path = ''] = text.slice(prefix.length).split('\0')
  return path.replace(/[\r\n]+$/, '')
}

/**
 * The names that lead from the top of a folder to what is named in one of its directories; undefined if it is elsewhere,
 * or could be: an absolute path is so, as it does not lead into a copy, and one that goes back up on its way, which may
 * be through a link.
 */
export function resolveInside(directory: readonly string[], path: string): readonly string[] | undefined {
  if (path.startsWith('/')) return undefined
  const steps = path.split('/').filter((step) => step !== '' && step !== '.')
  const down = steps.findIndex((step) => step !== '..')
  const up = down === -1 ? steps.length : down
  const rest = steps.slice(up)
  if (up > directory.length || rest.includes('..')) return undefined
  return [...directory.slice(0, directory.length - up), ...rest]
}
