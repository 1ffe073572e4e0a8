/**
 * Builds dist/, what users get: the `aw` command, the library, and the types of the library.
 *
 *   node tools/build.ts [another directory]
 */
import { execFile } from 'node:child_process'
import { access, chmod, copyFile, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build as bundle } from 'esbuild'
import { isYounger } from './build-age.ts'
import { inRoot, root } from './root.ts'

const dist = inRoot('dist')
const entries = { cli: 'src/cli/main.ts', index: 'src/index.ts' }

/** True when nothing that goes into dist/ has changed since it was built. */
export async function buildIsCurrent(): Promise<boolean> {
  const inputs = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'tools/build.ts', 'tools/launcher.js']
  return isYounger(join(dist, 'aw.js'), inputs.map(inRoot))
}

/** Builds aside and then takes its place, so that a build that fails leaves the last good one. */
export async function build(to = dist): Promise<void> {
  await Promise.all(Object.values(entries).map(entryExists))
  const fresh = inRoot(`node_modules/.cache/aw-build-${process.pid}`)
  try {
    await typesTo(join(fresh, 'types'))
    await bundleTo(fresh)
    await copyFile(inRoot('tools/launcher.js'), join(fresh, 'aw.js'))
    await chmod(join(fresh, 'aw.js'), 0o755)
    await rm(to, { recursive: true, force: true })
    await rename(fresh, to)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Splitting keeps what is imported lazily in files of its own, read only when needed. */
async function bundleTo(outdir: string): Promise<void> {
  const { version } = JSON.parse(await readFile(inRoot('package.json'), 'utf8')) as { version: string }
  await bundle({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.18',
    external: ['koffi'],
    define: { __AW_VERSION__: JSON.stringify(version) },
    chunkNames: 'parts/[name]-[hash]',
    legalComments: 'eof',
    logLevel: 'warning',
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
