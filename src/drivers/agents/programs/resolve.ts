import type { FoundProgram } from '../../../ports/agents.ts'
import { canonical } from '../../../sys/fs/canonical.ts'
import { isOutsideOf, run } from '../../../sys/processes/run.ts'
import { findPrograms, isProgram, type ProgramSearch } from './find.ts'
import { interpreterFiles, isOlder, oldestNode, packageRoot, virtualEnvironmentOf } from './package.ts'
import { detectFormat } from './script.ts'

/**
 * Where a program is that a user would start by a name or an absolute path, and all that has to be readable for it:
 * links and wrappers are followed to what is started in the end, a script to what runs it.
 */
export async function resolveProgram(
  binary: string,
  around: ProgramSearch,
  besides: readonly string[] = [],
): Promise<FoundProgram | undefined> {
  const [first] = binary.startsWith('/')
    ? [binary].filter((path) => isSafe(path, around))
    : findPrograms(binary, around)
  if (first === undefined) return undefined
  const path = followed(first, around)
  const beginning = detectFormat(path)
  const reads = [packageRoot(path), ...besides.map(canonical)]
  if (path.endsWith('/volta-shim')) return { path, reads: [], problem: shim }
  if (beginning.kind === 'native') return { path, reads: unseen(reads) }
  if (!beginning.byName) {
    const interpreter = canonical(beginning.interpreter)
    const own = virtualEnvironmentOf(beginning.interpreter)
    const libraries = isSystem(interpreter) ? [] : interpreterFiles(interpreter)
    return { path, reads: unseen([...reads, ...(own === undefined ? [] : [own]), ...libraries]) }
  }
  return withRuntime(path, beginning.interpreter, reads, around)
}

const isSafe = (path: string, { avoid }: ProgramSearch): boolean => isProgram(path) && isOutsideOf(avoid)(path)

/** A wrapper leads on, at most so often; what it leads to may be missing, and is then told when it is started. */
const maxSteps = 8

function followed(first: string, around: ProgramSearch): string {
  let path = canonical(first)
  for (let step = 0; step < maxSteps; step++) {
    const beginning = detectFormat(path)
    const next = beginning.kind === 'script' ? beginning.next : undefined
    if (next === undefined || !isSafe(next, around)) break
    path = canonical(next)
  }
  return path
}

/** One program that stands for many, and looks for the right one with all that it has in the user's home. */
const shim = {
  message: 'it is a shim of Volta, which works only in the home of its user',
  hint: 'Name the program itself in the profile, as binary: see volta which NAME',
}

/** The first of the user's that is new enough; else the first, and what is wrong with it. */
async function withRuntime(
  path: string,
  name: string,
  reads: readonly string[],
  around: ProgramSearch,
): Promise<FoundProgram> {
  const oldest = name === 'node' ? oldestNode(path) : undefined
  let found: FoundProgram['runtime']
  for (const candidate of findPrograms(name, around)) {
    const runtime = { name, path: canonical(candidate), version: await versionOf(name, candidate) }
    found ??= runtime
    if (oldest !== undefined && runtime.version !== undefined && isOlder(runtime.version, oldest)) continue
    return { path, runtime, reads: unseen([...reads, ...interpreterFiles(runtime.path)]) }
  }
  const problem =
    found === undefined
      ? { message: `it is run by ${name}, and there is no ${name}`, hint: `Install ${name}${since(oldest)}` }
      : {
          message: `it needs Node ${oldest} or later, and ${found.path} is ${found.version}`,
          hint: `Install Node${since(oldest)}, and put it first in PATH`,
        }
  return { path, runtime: found, reads: unseen([...reads, ...(found === undefined ? [] : [found.path])]), problem }
}

const since = (oldest: string | undefined): string => (oldest === undefined ? '' : ` ${oldest} or later`)

/** Only of Node, whose packages say what they need. */
async function versionOf(name: string, program: string): Promise<string | undefined> {
  if (name !== 'node') return undefined
  try {
    const { stdout } = await run(program, ['--version'], { cwd: '/', env: {}, timeoutMs: 5_000 })
    return /^v([0-9.]+)/.exec(stdout.trim())?.[1]
  } catch {
    return undefined
  }
}

/** What every sandbox sees of the system, whatever else it sees. */
const isSystem = (path: string): boolean => /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32)\//.test(path)

/** Each once, and none that is in another. */
function unseen(paths: readonly string[]): string[] {
  const all = [...new Set(paths)].filter((path) => !isSystem(path))
  return all.filter((path) => !all.some((other) => path !== other && path.startsWith(`${other}/`)))
}
