/**
 * Builds aw-box, the program at both ends of a sandbox, and aw-copy, which copies trees, to prebuilt/, and notes what they
 * were made from. The same sources and the same compiler give the same bytes.
 *
 *   node tools/build-box.ts
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inRoot } from './root.ts'

const run = promisify(execFile)

/** Each program, and where its sources are. */
export const programs = { 'aw-box': 'native/box', 'aw-copy': 'native/copy' } as const
export type Program = keyof typeof programs

const sourcesOf = (program: Program): string => inRoot(programs[program])

const compiler = 'musl-gcc'
const flags = (
  '-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -static -s -fstack-protector-strong ' +
  '-ffunction-sections -fdata-sections -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,relro,-z,now -Wl,-z,noexecstack'
).split(' ')

export interface BoxRecord {
  /** Of the names and contents of all sources. */
  readonly sources: string
  /** All that the bytes depend on besides. */
  readonly compiler: string
  readonly binary: string
}

/** Where the programs for this machine and what is noted about them are kept. */
export const boxFolder = inRoot(`prebuilt/linux-${process.arch}`)

export async function readRecord(program: Program): Promise<BoxRecord> {
  return JSON.parse(await readFile(join(boxFolder, `${program}.json`), 'utf8')) as BoxRecord
}

export async function hashSources(program: Program): Promise<string> {
  const hash = createHash('sha256')
  for (const name of await sourceNames(program)) {
    hash.update(`${name}\0`).update(sha256(await readFile(join(sourcesOf(program), name))))
  }
  return hash.digest('hex')
}

export async function compilerVersion(): Promise<string> {
  const [gcc, linker, library] = await Promise.all([
    run(compiler, ['--version']),
    run(compiler, ['-Wl,--version']),
    run(compiler, ['-print-file-name=libc.a']),
  ])
  const firstLine = (text: string): string => text.split('\n')[0] ?? ''
  const libc = sha256(await readFile(library.stdout.trim())).slice(0, 16)
  return `${firstLine(gcc.stdout)}; ${firstLine(linker.stdout)}; libc.a ${libc}`
}

/** Compiles into a file; answers the hash of its bytes. */
export async function compile(program: Program, to: string): Promise<string> {
  const names = (await sourceNames(program)).filter((name) => name.endsWith('.c'))
  const sources = sourcesOf(program)
  await run(compiler, [...flags, `-ffile-prefix-map=${sources}=.`, '-o', to, ...names], { cwd: sources })
  return sha256(await readFile(to))
}

async function build(program: Program): Promise<void> {
  await mkdir(boxFolder, { recursive: true })
  const fresh = await mkdtemp(join(boxFolder, '.fresh-'))
  try {
    const binary = await compile(program, join(fresh, program))
    const record: BoxRecord = { sources: await hashSources(program), compiler: await compilerVersion(), binary }
    await writeFile(join(fresh, `${program}.json`), `${JSON.stringify(record, null, 2)}\n`)
    await chmod(join(fresh, program), 0o755)
    for (const name of [program, `${program}.json`]) await rename(join(fresh, name), join(boxFolder, name))
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

async function sourceNames(program: Program): Promise<string[]> {
  return (await readdir(sourcesOf(program))).filter((name) => /\.[ch]$/.test(name)).toSorted()
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

if (import.meta.main) {
  const all = Object.keys(programs) as Program[]
  await Promise.all(all.map(build)).catch((error: Error & { stderr?: string }) => {
    console.error(error.stderr ?? error.message)
    process.exitCode = 1
  })
}
