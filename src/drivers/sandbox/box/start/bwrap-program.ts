import { statSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../../../../sys/fs/durable-file.ts'
import { findSystemProgram, run } from '../../../../sys/processes/run.ts'
import { writeAtomically } from '../temporary-files.ts'

/** The bubblewrap of this machine and what it can do. */
export interface Bubblewrap {
  readonly path: string
  readonly bindsHandles: boolean
  readonly disablesUserns: boolean
}

/** Asked once for each build of it: the answer is kept in the directory for the boxes. Undefined: not installed. */
export async function findBubblewrap(runDirectory: string): Promise<Bubblewrap | undefined> {
  const path = findSystemProgram('bwrap')
  if (path === undefined) return undefined
  const key = programKey(path)
  if (found?.key === key) return found
  const memo = join(runDirectory, '.bwrap')
  const [known, ...flags] = (readIfPresent(memo) ?? '').split('\n')
  const has = known === key ? flags : await ask(path)
  if (known !== key) writeAtomically(runDirectory, memo, Buffer.from([key, ...has].join('\n')))
  found = { key, path, bindsHandles: has.includes('--bind-fd'), disablesUserns: has.includes('--disable-userns') }
  return found
}

/** As this process knows it. */
let found: (Bubblewrap & { readonly key: string }) | undefined

/** Which build of a program this is. */
export function programKey(path: string): string {
  const { dev, ino, size, mtimeMs } = statSync(path)
  return [path, dev, ino, size, mtimeMs].join(' ')
}

async function ask(path: string): Promise<string[]> {
  const { stdout } = await run(path, ['--help'], { cwd: '/', env: {}, timeoutMs: 10_000 })
  return stdout.match(/^ +--[a-z-]+/gm)?.map((flag) => flag.trim()) ?? []
}
