import type { Outputs } from '../../../api/table.ts'
import { pairsOf } from '../columns.ts'
import { placeOf } from '../basic.ts'
import { bytes, timeLeft } from '../units.ts'
import type { Shown, View } from '../view.ts'

/** Confirmations: a line that says what is true now. */

export const renamed = (workspace: Outputs['rename'], { quiet }: View): Shown => ({
  ...(quiet ? {} : { note: `The workspace is now ${workspace.workspace_id}` }),
  ...placeOf(workspace),
})

export function labelled({ labels }: Outputs['label'], view: View): Shown {
  if (view.quiet) return { out: '' }
  return {
    out: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n'),
  }
}

/** `f4/main expires 2026-11-18 16:05 UTC (in 3d)` */
export function ending({ workspace_id: name, expires_at: end }: Outputs['ttl'], { quiet, now, input }: View): Shown {
  if (quiet && input['duration'] !== undefined) return { out: '' }
  if (end === null) return { out: `${name} has no end` }
  const at = `${end.slice(0, 10)} ${end.slice(11, 16)} UTC`
  const left = timeLeft(end, now)
  if (left !== 'over') return { out: `${name} expires ${at} (in ${left})` }
  return { out: `${name} expired ${at}; the next aw gc moves it to the trash` }
}

export function limited({ workspace_id: name, size_limit: limit }: Outputs['limit'], { quiet, input }: View): Shown {
  if (limit === undefined || (quiet && input['size'] !== undefined)) return { out: '' }
  if (limit.mb === 0) return { out: `${name} has no size limit` }
  return { out: `${name} may hold ${limit.mb} MB beyond what it began as (${limit.grade})` }
}

export const reset = (workspace: Outputs['reset']): Shown => {
  const last = workspace.trash.at(-1)
  const { notice, ...place } = placeOf(workspace)
  if (last === undefined) return placeOf(workspace)
  const note = `The tree before it is kept. Bring it back with: aw undelete ${last.tree} --as NAME`
  return { ...place, note, ...(notice !== undefined && { notice: `${note}\n${notice}` }) }
}

export const undeleted = (workspace: Outputs['undelete']): Shown => placeOf(workspace)

export function purged(output: Outputs['purge'], { quiet }: View): Shown {
  if (quiet) return { out: '' }
  return { out: output.purged ? `Erased ${bytes(output.bytes)}` : 'Nothing to erase' }
}

/** The prompt goes on to an agent, so not a byte is added. */
export const adapted = ({ text }: Outputs['prompt adapt']): Shown => ({ out: Buffer.from(text) })

export const lease = (output: Outputs['lease acquire'], view: View): Shown => ({
  out: view.quiet
    ? output.id
    : pairsOf(
        [
          ['lease', output.id],
          ['workspace', output.workspace],
          ['holder', output.holder],
          ['until', output.expires_at],
        ],
        view,
      ),
})

export const adopted = (output: Outputs['adopt'], view: View): Shown => ({
  ...lease(output, view),
  ...(output.adopted_from !== null && { note: `Taken over from ${output.adopted_from}, whose lease is void` }),
})

export const released = (output: Outputs['lease release'], { quiet }: View): Shown => ({
  out: quiet ? '' : output.released ? 'Lease given back' : 'The lease was not held any more',
})
