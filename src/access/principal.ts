import { AwError } from '../domain/errors.ts'
import type { Scope } from '../domain/tokens/scopes.ts'

/** Who asks through a door, and what they may do. */
export interface Principal {
  /** As events record it: `user:1000`, `token:tok_…`. Also whose requests are counted together. */
  readonly actor: string
  readonly scopes: readonly Scope[]
  /** Ids, or names with `*` for any run of characters but a slash; null for every workspace. */
  readonly workspaces: readonly string[] | null
  /** They are in this sandbox, and get nothing that it does not have. */
  readonly sandbox?: string | undefined
}

/** The user of the home, at the machine itself. */
export const owner = (uid: number): Principal => ({
  actor: `user:${uid}`,
  scopes: ['admin', 'approve'],
  workspaces: null,
})

/** Nothing is kept from them: no field is refused, nothing in an answer is left out. */
export const isAdmin = ({ scopes, workspaces }: Principal): boolean => scopes.includes('admin') && workspaces === null

export function allows({ scopes }: Principal, scope: Scope): boolean {
  return scopes.includes(scope) || (scope !== 'approve' && scopes.includes('admin'))
}

export function assertScope(principal: Principal, scope: Scope, what: string): void {
  if (allows(principal, scope)) return
  throw new AwError('permission_denied', `This token may not do that: ${what} needs the scope ${scope}`, {
    hint: 'Ask whoever made the token for another: aw token create --scope …',
    data: { scope },
  })
}

/** Whether one of its patterns is this workspace. */
export function reaches({ workspaces }: Principal, { id, name }: { id?: string; name?: string }): boolean {
  if (workspaces === null) return true
  return workspaces.some((pattern) => pattern === id || (name !== undefined && matchesPattern(pattern, name)))
}

function matchesPattern(pattern: string, name: string): boolean {
  if (pattern.startsWith('ws_')) return false
  const whole = pattern.includes('/') ? pattern : `${pattern}/main`
  const [patterns, words] = [whole.split('/'), name.split('/')]
  return patterns.length === words.length && patterns.every((one, i) => matchesGlob(one, words[i] ?? ''))
}

/** What stands between stars is looked for from left to right, and never again: however many stars there are. */
function matchesGlob(pattern: string, word: string): boolean {
  const [first = '', ...between] = pattern.split('*')
  const last = between.pop()
  if (last === undefined) return pattern === word
  const end = word.length - last.length
  if (end < first.length || !word.startsWith(first) || !word.endsWith(last)) return false
  let at = first.length
  for (const part of between) {
    const found = word.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
