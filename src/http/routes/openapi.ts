import type { Operation, Route } from '../../api/operation.ts'
import type { JsonSchema } from '../../api/schema.ts'
import { operations, type Table } from '../../api/table.ts'
import { errorTable, type ErrorCode } from '../../domain/errors.ts'
import { version } from '../../version.ts'
import { bytesField } from '../input.ts'
import { acceptsIdempotencyKey } from '../idempotency.ts'
import { type RouteAbout, serverRouteObject } from './openapi-server-routes.ts'
import { sessionRoutesOf } from '../session.ts'

type Json = Record<string, unknown>

type Own = Readonly<Record<string, { readonly open?: true | undefined; readonly about: RouteAbout }>>

/** The whole of it as OpenAPI 3.1, derived from the table. @param own what the daemon has beside it, by method and path */
export function openApi(own: Own, table: Table = operations): Json {
  const paths: Record<string, Json> = {}
  const add = (route: string, object: Json): void => {
    const [method = '', path = ''] = route.split(' ')
    const at = path.replaceAll(/:(\w+)/g, '{$1}')
    paths[at] = { ...paths[at], [method.toLowerCase()]: object }
  }
  for (const operation of table) {
    const { name, routes } = operation
    for (const [i, route] of routes.entries()) {
      const id = `${name.replaceAll(' ', '_')}${i === 0 ? '' : `_${i + 1}`}`
      add(route.replace(' /', ' /api/'), operationObject(operation, route, id))
    }
    for (const route of sessionRoutesOf(name))
      add(route.replace(' /', ' /api/'), operationObject(held(operation), route, `session_${name}`))
  }
  for (const [route, { about, open }] of Object.entries(own)) add(route, serverRouteObject(route, about, open === true))
  return {
    openapi: '3.1.0',
    info: {
      title: 'aw',
      version: version(),
      description:
        'Workspaces for agents. Errors are application/problem+json with a code; see the reference of errors.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'aw token create' } },
      schemas: { Problem: problem },
      responses: { Problem: { description: 'What went wrong', content: problemContent } },
    },
  }
}

const problemContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

const problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'retryable', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(errorTable) },
    hint: { type: ['string', 'null'] },
    data: { type: 'object' },
    retryable: { type: 'boolean' },
    request_id: { type: 'string' },
  },
}

/** Of the workspace of a token: it is not named, and all that is wrong with it is the same status. */
function held(operation: Operation): Operation {
  const { id: _, ...properties } = operation.input.properties ?? {}
  const required = operation.input.required?.filter((field) => field !== 'id') ?? []
  return { ...operation, input: { ...operation.input, properties, required }, errors: ['invalid_input'] }
}

function operationObject(operation: Operation, route: Route, operationId: string): Json {
  const { name, summary, details, group, input, kind, scope } = operation
  const fields = Object.entries(input.properties ?? {})
  const inPath = fieldsOf(route)
  const others = fields.filter(([field]) => !inPath.includes(field))
  const hasQuery = /^(GET|DELETE) /.test(route) || operation.takes === 'bytes'
  const required = (field: string): boolean => input.required?.includes(field) === true
  return {
    operationId,
    summary,
    ...(details !== undefined && { description: details }),
    tags: [group],
    'x-aw-operation': name,
    'x-aw-kind': kind,
    'x-aw-scope': scope,
    parameters: [
      ...inPath.map((field) => parameter(field, 'path', input.properties?.[field] ?? {}, true)),
      ...(hasQuery ? others.map(([field, schema]) => parameter(field, 'query', schema, required(field))) : []),
      ...(acceptsIdempotencyKey(operation) ? [idempotencyKey] : []),
      ...(kind === 'read' ? [] : [lease]),
      correlationId,
    ],
    ...(!hasQuery && { requestBody: body(operation, inPath, others) }),
    ...(operation.takes === 'bytes' && { requestBody: { content: { [raw]: {} } } }),
    responses: responses(operation),
  }
}

const fieldsOf = (route: Route): string[] => [...route.matchAll(/:(\w+)/g)].map(([, field = '']) => field)

const raw = 'application/octet-stream'

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'The same key with the same request is answered with the first answer; a stream takes one with detach',
  schema: { type: 'string', maxLength: 255 },
}

const lease = {
  name: 'AW-Lease',
  in: 'header',
  description: 'The lease under which it is asked for; if it is not held any more, the answer is lease_lost',
  schema: { type: 'string', maxLength: 200 },
}

const correlationId = {
  name: 'AW-Correlation-Id',
  in: 'header',
  description: 'What the request belongs to, percent-encoded; it is in its events, and comes back',
  schema: { type: 'string' },
}

const parameter = (name: string, place: string, schema: JsonSchema, required: boolean): Json => ({
  name,
  in: place,
  required,
  description: schema.description ?? '',
  // KEY=VALUE, as often as there are pairs.
  schema:
    schema['x-cli'] === 'pairs' ? { type: 'array', items: { type: 'string', pattern: '^[^=]+=' } } : clean(schema),
})

function body(operation: Operation, inPath: readonly string[], others: readonly [string, JsonSchema][]): Json {
  const needed = (operation.input.required ?? []).filter((field) => !inPath.includes(field))
  const schema = {
    type: 'object',
    properties: Object.fromEntries(others.map(([field, one]) => [field, clean(one)])),
    ...(needed.length > 0 && { required: needed }),
    additionalProperties: false,
  }
  const isContent = bytesField(operation) !== undefined
  return {
    required: needed.length > 0,
    content: { 'application/json': { schema }, ...(isContent && { [raw]: {} }) },
  }
}

function responses(operation: Operation): Json {
  const { output, form = 'value', makes, errors } = operation
  const schema = clean(output)
  const content =
    form === 'bytes' || operation.gives === 'bytes'
      ? { [raw]: {} }
      : form === 'stream'
        ? { 'application/x-ndjson': { schema }, 'text/event-stream': { schema } }
        : { 'application/json': { schema } }
  const statuses = new Set([400, 401, 403, 429, 503, ...errors.map((code: ErrorCode) => errorTable[code].status)])
  const problems = [...statuses]
    .toSorted((a, b) => a - b)
    .map((status): [number, Json] => [status, { $ref: '#/components/responses/Problem' }])
  return {
    [makes === undefined ? 200 : 201]: { description: 'Done', content },
    ...(typeof makes === 'string' && { 200: { description: 'Nothing was made; each result says why', content } }),
    ...(form === 'bytes' && { 206: { description: 'A part of it', content } }),
    ...Object.fromEntries(problems),
  }
}

/** Without what is meant for us alone. */
function clean(schema: JsonSchema): Json {
  const { 'x-cli': _, 'x-path': __, ...rest } = schema
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]): [string, unknown] => {
      if (key === 'properties')
        return [
          key,
          Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, clean(one as JsonSchema)])),
        ]
      if (key === 'items') return [key, clean(value as JsonSchema)]
      if (key === 'anyOf') return [key, (value as JsonSchema[]).map(clean)]
      if (key === 'additionalProperties' && typeof value === 'object') return [key, clean(value as JsonSchema)]
      return [key, value]
    }),
  )
}
