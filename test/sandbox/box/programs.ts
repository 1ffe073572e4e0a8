/** Programs in C, for what no shell can do. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testFolder } from './harness.ts'

const compiler = 'musl-gcc'
const sources = fileURLToPath(new URL('programs/', import.meta.url))

/** Makes the one of this name, for everybody, needing nothing; it is gone after the test. */
export function compiled(name: string): string {
  const file = join(testFolder(), name)
  const flags = ['-static', '-O1', '-Wall', '-Wextra', '-Werror']
  execFileSync(compiler, [...flags, '-o', file, join(sources, `${name}.c`)])
  return file
}
