import type { Operation } from '../../api/operation.ts'
import type { WireRequest } from './wire.ts'

type Input = Readonly<Record<string, unknown>>

/** The request that an operation with this input is. */
export function requestFor(operation: Operation, input: Input): Omit<WireRequest, 'headers'> & { type?: string } {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  const has = new Set(given.map(([field]) => field))
  const fieldsIn = (route: string): string[] => [...route.matchAll(/:(\w+)/g)].map(([, field = '']) => field)
  const route =
    operation.routes.find((one) => fieldsIn(one).every((field) => has.has(field))) ?? operation.routes[0] ?? ''
  const [method = '', pattern = ''] = route.split(' ')
  const path = `/api${pattern.replaceAll(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(input[field])))}`
  const others = given.filter(([field]) => !fieldsIn(route).includes(field))
  const content = others.find(([field]) => operation.input.properties?.[field]?.contentEncoding === 'base64')
  if (content !== undefined && method !== 'GET') {
    const rest = others.filter((one) => one !== content)
    const body = content[1] as Uint8Array | string
    return { method, path: `${path}${queryOf(rest)}`, body, type: 'application/octet-stream' }
  }
  if (method === 'GET' || method === 'DELETE' || operation.takes === 'bytes')
    return { method, path: `${path}${queryOf(others)}` }
  if (others.length === 0) return { method, path }
  return { method, path, body: JSON.stringify(Object.fromEntries(others)), type: 'application/json' }
}

function queryOf(fields: readonly (readonly [string, unknown])[]): string {
  const query = new URLSearchParams()
  for (const [field, value] of fields) {
    if (Array.isArray(value)) for (const item of value) query.append(field, String(item))
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) query.append(field, `${key}=${item}`)
    else query.append(field, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
