/**
 * Builds dist/, what users get: the `aw` command, the library, and the types of the library.
 *
 *   node tools/build.ts [another directory]
 */
import { execFile } from 'node:child_process'
import { access, copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build as bundle, type BuildOptions } from 'esbuild'
import { isYounger } from './build-age.ts'
import { linkLazily, programFile } from './lazy-link.ts'
import { readyTable, waitingTable } from './ready-table.ts'
import { inRoot, root } from './root.ts'

const dist = inRoot('dist')
const command = 'src/cli/main.ts'
const library = 'src/index.ts'
const proxy = 'src/drivers/sandbox/proxy/main.ts'
const mcp = 'src/mcp/main.ts'
const daemon = 'src/daemon/main.ts'
const client = 'src/client/main.ts'
/** True when nothing that goes into dist/ has changed since it was built. */
export async function buildIsCurrent(): Promise<boolean> {
  const inputs = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'tools']
  return isYounger(join(dist, 'aw.cjs'), inputs.map(inRoot))
}

/** Builds aside and then takes its place, so that a build that fails leaves the last good one. */
export async function build(to = dist): Promise<void> {
  await Promise.all([command, library, proxy, mcp, daemon, client].map(entryExists))
  // On the file system of its place; beside dist/ the checks would find it.
  const fresh = to === dist ? inRoot(`node_modules/.cache/aw-build-${process.pid}`) : `${to}-${process.pid}`
  try {
    await typesTo(join(fresh, 'types'))
    await bundleLibrary(fresh)
    await bundleCommand(fresh)
    await bundleProxy(fresh)
    await rm(to, { recursive: true, force: true })
    await rename(fresh, to)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

async function ourVersion(): Promise<string> {
  return (JSON.parse(await readFile(inRoot('package.json'), 'utf8')) as { version: string }).version
}

async function common(): Promise<BuildOptions> {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node22.18',
    define: { __AW_VERSION__: JSON.stringify(await ourVersion()) },
    legalComments: 'eof',
    plugins: [readyTable],
    logLevel: 'warning',
  }
}

/** Splitting keeps what is imported lazily in files of its own, read only when needed; large programs are such files. */
async function bundleLibrary(outdir: string): Promise<void> {
  await bundle({
    ...(await common()),
    entryPoints: { index: library, mcp, daemon, client },
    outdir,
    splitting: true,
    format: 'esm',
    // What is bundled may still ask for a module of Node in the old way.
    banner: { js: "import{createRequire as awRequire}from'node:module';const require=awRequire(import.meta.url);" },
    chunkNames: 'parts/[name]-[hash]',
  })
  await checkNodeFirst(outdir)
}

/** A module that stands first runs first. It is plain, so that the library can still be loaded with `require`. */
async function checkNodeFirst(outdir: string): Promise<void> {
  await copyFile(inRoot('tools/node-version.js'), join(outdir, 'node-version.js'))
  for (const entry of ['index.js', 'client.js']) {
    const file = join(outdir, entry)
    await writeFile(file, `import "./node-version.js";\n${await readFile(file, 'utf8')}`)
  }
}

/**
 * The command is a file with its modules one after another, of which the launcher runs those that are used, from compiled
 * code that it keeps. Names stay as they are, for stack traces.
 */
async function bundleCommand(outdir: string): Promise<void> {
  const options = await common()
  const linked = await linkLazily(command, {
    ...options,
    define: { ...options.define, 'import.meta.url': '__filename' },
    plugins: [waitingTable],
  })
  const name = `cli-${linked.hash}.cjs`
  await writeFile(join(outdir, name), programFile(linked))
  const launcher = await readFile(inRoot('tools/launcher.cjs'), 'utf8')
  const whole = launcher.replace('PROGRAM', name).replace('WORDS', await firstWords())
  await writeFile(join(outdir, 'aw.cjs'), whole, { mode: 0o755 })
  const shell = await readFile(inRoot('tools/aw.sh'), 'utf8')
  await writeFile(join(outdir, 'aw'), shell.replace('VERSION', await ourVersion()), { mode: 0o755 })
}

/** Those that commands begin with. */
async function firstWords(): Promise<string> {
  const [{ operations }, { builtins }] = await Promise.all([
    import('../src/api/table.ts'),
    import('../src/cli/builtins.ts'),
  ])
  return [...new Set([...operations, ...builtins].map(({ name }) => name.split(' ')[0]))].join(' ')
}

/** A program of its own, started for a box that uses the network: small, and nothing but Node's modules in it. */
async function bundleProxy(outdir: string): Promise<void> {
  await bundle({
    ...(await common()),
    entryPoints: { proxy },
    outdir,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    minifyWhitespace: true,
  })
}

async function typesTo(outDir: string): Promise<void> {
  const tsc = inRoot('node_modules/typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', outDir], {
    cwd: root,
  }).catch((error: { stdout: string }) => {
    throw new Error(`The types do not build:\n${error.stdout}`)
  })
}

async function entryExists(path: string): Promise<void> {
  await access(inRoot(path)).catch(() => {
    throw new Error(`Nothing to build: ${path} is missing`)
  })
}

if (import.meta.main) {
  await build(process.argv[2]).catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
