import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { AwError } from '../domain/errors.ts'

/** An empty name is none: it must not make a home of the directory one happens to be in. */
export function homeOf(
  options: { readonly home?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string {
  const named = options.home || env['AW_HOME']
  if (named) return resolve(cwd, named)
  const user = homedir()
  if (user !== '') return resolve(cwd, user, '.aw')
  throw new AwError('invalid_config', 'There is no home directory to keep workspaces in', {
    hint: 'Set HOME, or name a place with --home or AW_HOME',
  })
}
