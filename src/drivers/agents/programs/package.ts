import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'

/**
 * What a program needs to read of what was installed with it. A package that was installed for all projects has all it
 * needs in itself; elsewhere packages lie beside one another, and the directory that holds them all is needed.
 */
export function packageRoot(program: string): string {
  const parts = program.split('/')
  const first = parts.indexOf('node_modules')
  if (first < 0) return program
  const holder = parts.slice(0, first + 1).join('/')
  if (!holder.endsWith('/lib/node_modules')) return holder
  const scoped = parts[first + 1]?.startsWith('@') === true
  return parts.slice(0, first + (scoped ? 3 : 2)).join('/')
}

/**
 * An interpreter, and what it needs besides: Python finds its library beside where it is. What else is there is not for it:
 * that may be the whole home of a user who has put it into `~/bin`.
 */
export function interpreterFiles(interpreter: string): string[] {
  if (!/\/python[0-9.]*$/.test(interpreter)) return [interpreter]
  const libraries = ['lib', 'lib64'].map((name) => join(dirname(dirname(interpreter)), name))
  return [interpreter, ...libraries.filter((path) => statSync(path, { throwIfNoEntry: false }) !== undefined)]
}

/** The directory of a virtual environment that an interpreter stands in, if it does. */
export function virtualEnvironmentOf(interpreter: string): string | undefined {
  const directory = dirname(dirname(interpreter))
  return statSync(join(directory, 'pyvenv.cfg'), { throwIfNoEntry: false }) === undefined ? undefined : directory
}

/** The oldest Node that a package says it works with, as `22.0.0`, if it says so plainly. */
export function oldestNode(program: string): string | undefined {
  for (let directory = dirname(program); directory !== '/'; directory = dirname(directory)) {
    const text = ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES'], () =>
      readFileSync(join(directory, 'package.json'), 'utf8'),
    )
    if (text === undefined) continue
    const range = /"engines"\s*:\s*\{[^}]*"node"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? ''
    return /^>=\s*v?([0-9]+(?:\.[0-9]+){0,2})$/.exec(range.trim())?.[1]
  }
  return undefined
}

export const isOlder = (version: string, than: string): boolean => {
  const [one, other] = [version, than].map((text) => text.replace(/^v/, '').split('.').map(Number))
  for (const index of [0, 1, 2]) {
    const difference = (one?.[index] ?? 0) - (other?.[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
