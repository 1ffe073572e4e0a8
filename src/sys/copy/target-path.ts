import { realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { ignoreErrors } from '../syscalls/errno.ts'
import { identityIfPresent, upward } from './source-folder.ts'

/** Where what belongs to aw lies. */
export interface OwnPaths {
  readonly home: string
  readonly storageRoot: string
}

/**
 * A place where a file for the user may appear: in no directory of aw's own, where it could replace the log or a snapshot.
 * Trees of workspaces are their users' to write to. Which directory it is, is asked of the directories themselves, as for
 * a source.
 */
export function assertTarget(target: string, { home, storageRoot }: OwnPaths): void {
  const directory = ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'], () =>
    realpathSync.native(dirname(resolve(target))),
  )
  // Nothing can appear there; whoever tries is told why.
  if (directory === undefined) return
  const identities = upward(directory).map(identityIfPresent)
  const trees = identities.indexOf(identityIfPresent(`${storageRoot}/volumes`) ?? none)
  if (trees > 0) return
  if ([home, storageRoot].some((own) => identities.includes(identityIfPresent(own) ?? none))) throw refused(target)
}

const none = 'none'

const refused = (target: string): AwError =>
  new AwError('invalid_input', `${target} is in a directory of aw's own`, {
    hint: 'Name a place outside the home of aw; a place in a workspace is named as TASK/AGENT:PATH',
    data: { path: target },
  })
