import { AwError } from '../../domain/errors.ts'
import { findProgram, run } from '../processes/run.ts'

/** The git of this machine, as an absolute path. */
export interface GitProgram {
  readonly path: string
  readonly version: readonly [major: number, minor: number, patch: number]
}

/** Looks for git once; `source_failed` if there is none, or one that must not be shown what strangers wrote. */
export function gitProgram(avoid: readonly string[]): (signal?: AbortSignal) => Promise<GitProgram> {
  let found: GitProgram | undefined
  return async (signal) => (found ??= await lookFor(avoid, signal))
}

async function lookFor(avoid: readonly string[], signal: AbortSignal | undefined): Promise<GitProgram> {
  const path = findProgram('git', avoid)
  if (path === undefined) {
    throw new AwError('source_failed', 'git is not installed', { hint: 'Install git and try again' })
  }
  const { stdout } = await run(path, ['--version'], { cwd: '/', env: { LC_ALL: 'C' }, timeoutMs: 20_000, signal })
  const version = parseVersion(stdout)
  if (!isSafe(version)) {
    throw new AwError('source_failed', `git ${version.join('.')} runs what a repository tells it to: it is too old`, {
      hint: 'Install git 2.45.1 or newer, or the last patch of the version that you have (2.39.4, 2.40.2, 2.41.1 …)',
      data: { version: version.join('.') },
    })
  }
  return { path, version }
}

export function parseVersion(text: string): [number, number, number] {
  const [, major, minor, patch] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? []
  return [Number(major ?? 0), Number(minor ?? 0), Number(patch ?? 0)]
}

/** The first patch of each version that has the fixes of May 2024 (CVE-2024-32002 and its kin). */
const firstSafePatch: Readonly<Record<number, number>> = { 39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1, 45: 1 }

export function isSafe([major, minor, patch]: readonly [number, number, number]): boolean {
  if (major !== 2) return major > 2
  const first = firstSafePatch[minor]
  return first === undefined ? minor > 45 : patch >= first
}
