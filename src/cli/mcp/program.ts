import { createRequire } from 'node:module'
import { AwError } from '../../domain/errors.ts'

type Mcp = typeof import('../../mcp/main.ts')

/**
 * What speaks MCP, loaded only where it is needed: it is larger than all the rest. From a checkout it is the source
 * itself, from the package a file of its own.
 */
export function loadMcp(): Mcp {
  const require = createRequire(import.meta.url)
  for (const place of ['../../mcp/main.ts', './mcp.js']) {
    try {
      require.resolve(place)
    } catch {
      continue
    }
    return require(place) as Mcp
  }
  throw new AwError('internal', 'The part that speaks MCP is missing', { hint: 'Install aw again' })
}
