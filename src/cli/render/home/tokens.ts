import type { Outputs } from '../../../api/table.ts'
import { columns, pairsOf, type Row } from '../columns.ts'
import { age, timeLeft } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Token = Outputs['token list'][number]

/** Alone if that is all somebody wants, as a script does: `TOKEN=$(aw token create -q …)`. */
export function createdToken(output: Outputs['token create'], view: View): Rendered {
  if (view.quiet) return { out: output.token }
  return {
    out: pairsOf(
      [
        ['token', output.token],
        ['id', output.id],
        ...(output.label === null ? [] : [['label', output.label] as const]),
        ['scopes', output.scopes.join(', ')],
        ['workspaces', reach(output)],
        ['expires', output.expires_at ?? 'never'],
      ],
      view,
    ),
    note: 'The token is shown this once: aw keeps only its hash',
  }
}

export function tokens(all: Outputs['token list'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'No tokens. Make one with: aw token create --workspace NAME' }
  if (view.quiet) return { out: all.map(({ id }) => id).join('\n') }
  const head: Row = ['ID', 'STATE', { text: 'AGE', right: true }, 'EXPIRES', 'SCOPES', 'WORKSPACES', 'LABEL']
  const rows = all.map((token): Row => [
    { text: token.id, paint: view.paint.bold },
    token.state,
    { text: age(token.created_at, view.now), right: true },
    ending(token, view),
    token.scopes.join(','),
    reach(token),
    { text: token.label ?? '-', paint: view.paint.dim },
  ])
  return { out: columns(head, rows, view) }
}

export const revoked = ({ id }: Outputs['token revoke'], { quiet }: View): Rendered => ({
  out: quiet ? '' : `${id} is revoked`,
})

const reach = ({ workspaces }: Pick<Token, 'workspaces'>): string => workspaces?.join(',') ?? 'all'

/** The sooner of its own end and the one that a rotation has set. */
function ending({ state, expires_at, revoked: ended }: Token, { now }: View): string {
  const ends = [expires_at, ended?.from].filter((at) => typeof at === 'string').toSorted()
  const [first] = ends
  return first === undefined || state !== 'active' ? '-' : timeLeft(first, now)
}
