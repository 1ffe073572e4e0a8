import * as fs from 'node:fs'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { politely } from './politely.ts'
import { factsOf, look } from './stat.ts'
import { walkTree } from './walk.ts'

interface Options {
  /** Names at the top that do not count. */
  readonly exclude?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * When anything in a tree was changed last, in milliseconds, by what the kernel tells and nobody can set. Of the top
 * itself, by when it was written: to move it is no change.
 */
export async function lastChange(directory: string, { exclude, signal }: Options): Promise<number> {
  const top = fs.openSync(directory, directoryFlags)
  try {
    return Number((await politely(latest(top, exclude), signal)) / 1_000_000n)
  } finally {
    fs.closeSync(top)
  }
}

function* latest(top: number, exclude: Options['exclude']): Steps<bigint> {
  const own = look(top, '')
  let found = own === undefined ? 0n : factsOf(own.print).mtimeNs
  for (const { print } of walkTree(top, { exclude })) {
    const { ctimeNs } = factsOf(print)
    if (ctimeNs > found) found = ctimeNs
    yield
  }
  return found
}
