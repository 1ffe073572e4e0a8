import { createRequire } from 'node:module'
import { AwError } from '../domain/errors.ts'

interface Bundles {
  readonly mcp: typeof import('../mcp/main.ts')
  readonly daemon: typeof import('../daemon/main.ts')
}

/**
 * Large parts that few commands need, loaded only there: each is larger than all the rest. From a checkout it is the
 * source itself, from the package a file of its own.
 */
export function loadBundle<N extends keyof Bundles>(name: N): Bundles[N] {
  const require = createRequire(import.meta.url)
  for (const place of [`../${name}/main.ts`, `./${name}.js`]) {
    try {
      require.resolve(place)
    } catch {
      continue
    }
    return require(place) as Bundles[N]
  }
  throw new AwError('internal', `A part of aw is missing: ${name}`, { hint: 'Install aw again' })
}
