import { operations } from '../api/table.ts'
import type { Operation, Route } from '../api/operation.ts'
import { reaches, type Principal } from '../access/principal.ts'
import type { AwError } from '../domain/errors.ts'
import type { Found } from './routes/routes.ts'
import { Refusal } from './refusal.ts'

/** The workspace of the caller's token, without naming it. Errors about it are 400. */
const routes: Readonly<Record<Route, string>> = {
  'GET /session/workspace': 'show',
  'GET /session/workspace/snapshots': 'snapshots',
  'POST /session/workspace/snapshots': 'snapshot',
  'POST /session/workspace/restore': 'restore',
  'POST /session/workspace/branch': 'branch',
  'GET /session/workspace/describe': 'describe',
}

export const isSession = (path: string): boolean => /^\/api\/session\/workspace(?:\/|$)/.test(path)

/** Where an operation is here. */
export const sessionRoutesOf = (operation: string): Route[] =>
  Object.entries(routes).flatMap(([route, name]) => (name === operation ? [route as Route] : []))

export function sessionRoute(method: string, path: string, principal: Principal): Found {
  const name = routes[`${method} ${path.slice('/api'.length)}` as Route]
  const operation = operations.find((one) => one.name === name) as Operation | undefined
  if (operation === undefined) throw new Refusal(404, 'invalid_input', 'There is nothing at this address')
  const own = principal.workspaces?.length === 1 ? principal.workspaces[0] : undefined
  if (
    own === undefined ||
    own.includes('*') ||
    !reaches(principal, own.startsWith('ws_') ? { id: own } : { name: own })
  )
    throw new Refusal(
      400,
      'invalid_input',
      'This address is about the workspace of a token, and yours is not for one workspace',
      'Make one: aw token create --workspace ID',
    )
  // How many are listed when nobody says.
  return { operation, fields: { id: own }, ...(name === 'snapshots' && { defaults: { limit: 20 } }) }
}

/** What is wrong with the workspace of a session is always the caller's mistake there. */
export const asBadRequest = (error: AwError): AwError =>
  error.code === 'internal' || error instanceof Refusal
    ? error
    : new Refusal(400, error.code, error.message, error.hint, {}, error.data)
