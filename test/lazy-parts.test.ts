/** The command starts fast because it reads little: what only some commands need is loaded by them. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { inRoot } from '../tools/root.ts'

interface Loaded {
  readonly files: Set<string>
  readonly modules: Set<string>
}

/** Follows the imports that are loaded before the first line runs. */
function loadedWith(file: string, loaded: Loaded = { files: new Set(), modules: new Set() }): Loaded {
  loaded.files.add(file)
  for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export)\b[^"';]*["']([^"']+)["']/gm,
  )) {
    const path = join(dirname(file), specifier)
    if (!specifier.startsWith('.')) loaded.modules.add(specifier)
    else if (!loaded.files.has(path)) loadedWith(path, loaded)
  }
  return loaded
}

test('aw --help loads neither the core nor what it is made of', () => {
  const { files, modules } = loadedWith(inRoot('dist/cli.js'))
  const heavy = ['koffi', 'node:sqlite', 'node:child_process', 'node:crypto', 'node:http', 'node:net', 'node:readline']
  expect([...modules].filter((name) => heavy.includes(name))).toEqual([])
  const bytes = [...files].reduce((sum, file) => sum + readFileSync(file).length, 0)
  expect(bytes).toBeGreaterThan(1_000)
  expect(bytes).toBeLessThan(150_000)
})

test('the library loads the optional part only when it is needed', () => {
  const { modules } = loadedWith(inRoot('dist/index.js'))
  expect([...modules]).not.toContain('koffi')
})
