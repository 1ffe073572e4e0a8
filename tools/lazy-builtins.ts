import { createRequire } from 'node:module'
import type { Plugin } from 'esbuild'

/**
 * Node's own modules are loaded by the first call of one of their functions instead of by the import that names them:
 * crypto takes 3.5 ms to load, child_process 3, tty 2, and most commands need none of them. The sources keep their plain
 * imports, and what nobody imports is shaken off.
 *
 * Only plain functions can wait. Classes, constants and functions with properties (`realpathSync.native`, what
 * `promisify` looks for) are fetched when the importing module starts, as without this.
 */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin', sideEffects: false }))
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({ contents: standIn(path), loader: 'js' }))
  },
}

function standIn(path: string): string {
  const builtin = createRequire(import.meta.url)(path) as Record<string, unknown>
  const names = Object.keys(builtin).filter((name) => /^[A-Za-z]\w*$/.test(name) && name !== 'default')
  return [
    `const load = () => process.getBuiltinModule(${JSON.stringify(path)})`,
    'const fetch = (name) => load()[name]',
    ...names.map(
      (name) => `const its_${name} = ${alreadyLoaded(path) || !isPlain(builtin[name]) ? now(name) : later(name)}`,
    ),
    `export { ${names.map((name) => `its_${name} as ${name}`).join(', ')} }`,
  ].join('\n')
}

/** Node itself has loaded these before our first line: waiting would only slow the calls down. */
const alreadyLoaded = (path: string): boolean => path === 'node:fs' || path === 'node:path'

const now = (name: string): string => `/* @__PURE__ */ fetch('${name}')`
const later = (name: string): string => `(...args) => load().${name}(...args)`

function isPlain(value: unknown): boolean {
  if (typeof value !== 'function' || value.toString().startsWith('class')) return false
  const isMethodless = value.prototype === undefined || Reflect.ownKeys(value.prototype as object).length <= 1
  return isMethodless && Reflect.ownKeys(value).every((key) => ordinary.has(key))
}

const ordinary = new Set<string | symbol>(['length', 'name', 'prototype', 'arguments', 'caller'])
