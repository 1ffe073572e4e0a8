import type { JsonSchema } from '../../api/schema.ts'
import type { Scope } from '../../domain/tokens/scopes.ts'

/** What the document says of an address that is no operation. */
export interface RouteAbout {
  /** Its name in the document. */
  readonly id: string
  readonly summary: string
  /** What a token must allow; without one, any token will do. */
  readonly scope?: Scope
  readonly headers?: Readonly<Record<string, string>>
  /** JSON that comes with it. */
  readonly body?: JsonSchema
  /** By status: what it means, and what is in it by its type. Problems need not be told. */
  readonly answers: Readonly<Record<number, readonly [about: string, content?: Readonly<Record<string, JsonSchema>>]>>
}

type Json = Record<string, unknown>

/** An address of the daemon itself as OpenAPI has it. @param isOpen whether it needs no token */
export function serverRouteObject(route: string, about: RouteAbout, isOpen: boolean): Json {
  const { id, summary, scope, headers = {}, body, answers } = about
  const fields = [...route.matchAll(/:(\w+)/g)].map(([, field = '']) => field)
  return {
    operationId: id,
    summary,
    tags: ['Daemon'],
    'x-aw-kind': route.startsWith('GET ') ? 'read' : 'write',
    ...(scope !== undefined && { 'x-aw-scope': scope }),
    ...(isOpen && { security: [] }),
    parameters: [
      ...fields.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...Object.entries(headers).map(([name, description]) => {
        return { name, in: 'header', description, schema: { type: 'string' } }
      }),
    ],
    ...(body !== undefined && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...Object.fromEntries(Object.entries(answers).map(answerOf)), ...(!isOpen && problems(scope)) },
  }
}

function answerOf([status, [description, content = {}]]: [string, RouteAbout['answers'][number]]): [string, Json] {
  const types = Object.entries(content).map(([type, schema]) => [type, { schema }])
  return [status, { description, ...(types.length > 0 && { content: Object.fromEntries(types) }) }]
}

const problem = { $ref: '#/components/responses/Problem' }

const problems = (scope: Scope | undefined): Json => ({
  401: problem,
  ...(scope !== undefined && { 403: problem }),
  429: problem,
  503: problem,
})
