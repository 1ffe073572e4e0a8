import { operations } from '../../api/table.ts'
import { Refusal } from '../refusal.ts'
import { router, type Found } from './routes.ts'

const find = router(operations)

/** The operation that is at an address, or why there is none. */
export function operationAt(method: string, segments: readonly string[] | undefined): Found {
  const at = segments?.[0] === 'api' ? find(method, segments.slice(1)) : undefined
  if (at === undefined)
    throw new Refusal(404, 'invalid_input', 'There is nothing at this address', 'See /api/openapi.json')
  if ('found' in at) return at.found
  throw new Refusal(405, 'invalid_input', `${method} is not for this address`, `It takes ${at.methods.join(', ')}`, {
    Allow: at.methods.join(', '),
  })
}

/** The same for a WebSocket, which is always asked for with GET. */
export function streamAt(segments: readonly string[] | undefined): Found {
  for (const method of ['GET', 'POST']) {
    const at = segments?.[0] === 'api' ? find(method, segments.slice(1)) : undefined
    if (at !== undefined && 'found' in at && at.found.operation.form === 'stream') return at.found
  }
  throw new Refusal(404, 'invalid_input', 'There is no stream at this address', 'See /api/openapi.json')
}
