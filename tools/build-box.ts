/**
 * Builds to prebuilt/ what is in C: aw-box, the program at both ends of a sandbox, aw-copy, which copies trees, aw-call, which
 * asks a daemon, and aw-calls, the addon that makes system calls; and notes what they were made from. The same sources and the same compiler give the
 * same bytes.
 *
 *   node tools/build-box.ts        what is for the processor of this machine (Debian: musl-tools)
 *   node tools/build-box.ts all    all that is in the package (and gcc-aarch64-linux-gnu)
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { inRoot } from './root.ts'

const run = promisify(execFile)

/** A file that is built, for one processor as Node names it. */
export interface Product {
  readonly name: string
  readonly processor: NodeJS.Architecture
  /** The folder of its sources. */
  readonly sources: string
  /** Whether it contains its C library; else it uses none. */
  readonly isProgram: boolean
}

const program = (name: string, folder: string): Product => ({
  name,
  processor: process.arch,
  sources: inRoot(folder),
  isProgram: true,
})

const addon = (processor: NodeJS.Architecture): Product => ({
  name: 'aw-calls.node',
  processor,
  sources: inRoot('native/calls'),
  isProgram: false,
})

/** The programs are for the processor of this machine, on which they are tested. */
export const products: readonly Product[] = [
  program('aw-box', 'native/box'),
  program('aw-copy', 'native/copy'),
  program('aw-call', 'native/call'),
  addon('x64'),
  addon('arm64'),
]

const compilerOf = ({ processor }: Product): string =>
  processor === process.arch ? 'musl-gcc' : `${processor === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu-gcc`

const words = (text: string): string[] => text.split(' ')
const always = words('-std=c11 -Wall -Wextra -Werror -O2 -s -Wl,--build-id=none -Wl,-z,relro,-z,now -Wl,-z,noexecstack')
const forPrograms = words(
  '-D_GNU_SOURCE -static -fstack-protector-strong -ffunction-sections -fdata-sections -Wl,--gc-sections',
)
const forAddons = [
  ...words('-shared -fPIC -nostdlib -ffreestanding -fvisibility=hidden -fno-stack-protector'),
  '-isystem',
  // What of Node-API there is in them has stayed the same since Node 10.
  join(dirname(dirname(process.execPath)), 'include/node'),
]

export interface BoxRecord {
  /** Of the names and contents of all sources. */
  readonly sources: string
  /** All that the bytes depend on besides. */
  readonly compiler: string
  readonly binary: string
}

/** Where it is kept; what is noted about it is beside it. */
export const placeOf = ({ name, processor }: Product): string => inRoot(`prebuilt/linux-${processor}/${name}`)

export async function readRecord(product: Product): Promise<BoxRecord> {
  return JSON.parse(await readFile(`${placeOf(product)}.json`, 'utf8')) as BoxRecord
}

export async function hashSources(product: Product): Promise<string> {
  const hash = createHash('sha256')
  for (const name of await sourceNames(product)) {
    hash.update(`${name}\0`).update(sha256(await readFile(join(product.sources, name))))
  }
  return hash.digest('hex')
}

export async function compilerVersion(product: Product): Promise<string> {
  const compiler = compilerOf(product)
  const [gcc, linker] = await Promise.all([run(compiler, ['--version']), run(compiler, ['-Wl,--version'])])
  const firstLine = (text: string): string => text.split('\n')[0] ?? ''
  const tools = `${firstLine(gcc.stdout)}; ${firstLine(linker.stdout)}`
  if (!product.isProgram) return tools
  const library = await run(compiler, ['-print-file-name=libc.a'])
  return `${tools}; libc.a ${sha256(await readFile(library.stdout.trim())).slice(0, 16)}`
}

/** Compiles into a file; answers the hash of its bytes. */
export async function compile(product: Product, to: string): Promise<string> {
  const { sources: cwd, isProgram } = product
  const names = (await sourceNames(product)).filter((name) => name.endsWith('.c'))
  const flags = [...always, ...(isProgram ? forPrograms : forAddons), `-ffile-prefix-map=${cwd}=.`]
  await run(compilerOf(product), [...flags, '-o', to, ...names], { cwd })
  return sha256(await readFile(to))
}

async function build(product: Product): Promise<void> {
  const place = placeOf(product)
  const folder = dirname(place)
  await mkdir(folder, { recursive: true })
  const fresh = await mkdtemp(join(folder, '.fresh-'))
  try {
    const made = join(fresh, 'made')
    const binary = await compile(product, made)
    const record: BoxRecord = { sources: await hashSources(product), compiler: await compilerVersion(product), binary }
    await writeFile(`${made}.json`, `${JSON.stringify(record, null, 2)}\n`)
    await chmod(made, 0o755)
    for (const end of ['', '.json']) await rename(`${made}${end}`, `${place}${end}`)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Sorted by file name, not by folder: the order of linking decides the bytes, and moving a file must not change them. */
async function sourceNames({ sources }: Product): Promise<string[]> {
  const names = (await readdir(sources, { recursive: true })).filter((name) => /\.[ch]$/.test(name)).toSorted()
  return names.toSorted((a, b) => (basename(a) < basename(b) ? -1 : basename(a) > basename(b) ? 1 : 0))
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

if (import.meta.main) {
  const wanted = products.filter(({ processor }) => process.argv[2] === 'all' || processor === process.arch)
  await Promise.all(wanted.map(build)).catch((error: Error & { stderr?: string }) => {
    console.error(error.stderr ?? error.message)
    process.exitCode = 1
  })
}
