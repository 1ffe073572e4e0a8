import { join } from 'node:path'
import { makeRepository } from './layout.ts'
import { chownTreeLike } from '../copy/chown-like.ts'

/**
 * What `git init` makes, in a directory that only we have written to, with the name and address for commits: without git,
 * so that the directory may be one that only this process can reach. Nothing of the user's or the machine's configuration,
 * no template and so no hook takes part.
 */
export function initRepository(directory: string, user: { readonly name: string; readonly email: string }): void {
  const repository = join(directory, '.git')
  makeRepository(repository, {
    head: 'refs/heads/main',
    sha256: false,
    bare: false,
    refs: new Map(),
    shallow: [],
    user: { name: bytes(user.name), email: bytes(user.email) },
  })
  chownTreeLike(directory, repository)
}

const bytes = (text: string): string => Buffer.from(text).toString('latin1')
