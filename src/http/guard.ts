import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

/**
 * What a browser on this machine could be made to send by somebody else's page never gets further than here. A name that
 * was made to point at this machine shows in Host; another page shows in Origin and Sec-Fetch-Site. There are no cookies,
 * no CORS headers, and OPTIONS is answered like any method that is not there.
 */
export function assertHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  const given = valuesOf(request, 'host')
  if (given.length !== 1) throw new Refusal(400, 'invalid_input', 'There must be one Host header')
  const [host = ''] = given
  if (!hosts.includes(host.toLowerCase()))
    throw new Refusal(
      421,
      'invalid_input',
      'The Host header names another server',
      `It must be one of ${hosts.join(', ')}`,
    )
  if (!request.url?.startsWith('/')) throw new Refusal(400, 'invalid_input', 'The request target must be a path')
  const origins = valuesOf(request, 'origin')
  if (origins.length > 0 && !(origins.length === 1 && origins[0] === `http://${host.toLowerCase()}`))
    throw new Refusal(403, 'permission_denied', 'Requests from other pages are not answered')
  if (valuesOf(request, 'sec-fetch-site').some((site) => site !== 'same-origin' && site !== 'none'))
    throw new Refusal(403, 'permission_denied', 'Requests from other pages are not answered')
}

/**
 * A header that is input: one line of ASCII, once. Node puts those that are there twice together, and reads other bytes as
 * Latin-1, so that the same line from two clients could mean two things.
 */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const [value, another] = valuesOf(request, name)
  if (value === undefined || (another === undefined && /^[ -~]*$/.test(value))) return value
  const why = another === undefined ? 'must be ASCII' : 'is given twice'
  throw new Refusal(400, 'invalid_input', `The header ${name} ${why}`)
}

/** Node keeps only the first of some headers that are there twice. */
export function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}
