import type { Outputs } from '../../../api/table.ts'
import { pairsOf } from '../columns.ts'
import { workspacePath } from '../basic.ts'
import { bytes, timeLeft } from '../units.ts'
import type { Rendered, View } from '../view.ts'

/** Confirmations: a line that says what is true now. */

export const renamed = (workspace: Outputs['rename'], { quiet }: View): Rendered => ({
  ...(quiet ? {} : { note: `The workspace is now ${workspace.workspace_id}` }),
  ...workspacePath(workspace),
})

export function labelled({ labels }: Outputs['label'], view: View): Rendered {
  if (view.quiet) return { out: '' }
  return {
    out: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n'),
  }
}

/** `f4/main expires 2026-11-18 16:05 UTC (in 3d)` */
export function ttlSet({ workspace_id: name, expires_at: end }: Outputs['ttl'], { quiet, now, input }: View): Rendered {
  if (quiet && input['duration'] !== undefined) return { out: '' }
  if (end === null) return { out: `${name} has no end` }
  const at = `${end.slice(0, 10)} ${end.slice(11, 16)} UTC`
  const left = timeLeft(end, now)
  if (left !== 'over') return { out: `${name} expires ${at} (in ${left})` }
  return { out: `${name} expired ${at}; the next aw gc moves it to the trash` }
}

export function limitSet(
  { workspace_id: name, size_limit: limit }: Outputs['limit'],
  { quiet, input }: View,
): Rendered {
  if (limit === undefined || (quiet && input['size'] !== undefined)) return { out: '' }
  if (limit.mb === 0) return { out: `${name} has no size limit` }
  return { out: `${name} may hold ${limit.mb} MB beyond what it began as (${limit.grade})` }
}

export const reset = (workspace: Outputs['reset']): Rendered => {
  const last = workspace.trash.at(-1)
  const { notice, ...place } = workspacePath(workspace)
  if (last === undefined) return workspacePath(workspace)
  const note = `The tree before it is kept. Bring it back with: aw undelete ${last.tree} --as NAME`
  return { ...place, note, ...(notice !== undefined && { notice: `${note}\n${notice}` }) }
}

export const undeleted = (workspace: Outputs['undelete']): Rendered => workspacePath(workspace)

export function purged(output: Outputs['purge'], { quiet }: View): Rendered {
  if (quiet) return { out: '' }
  return { out: output.purged ? `Erased ${bytes(output.bytes)}` : 'Nothing to erase' }
}

/** The prompt goes on to an agent, so not a byte is added. */
export const adaptedPrompt = ({ text }: Outputs['prompt adapt']): Rendered => ({ out: Buffer.from(text) })

export const lease = (output: Outputs['lease acquire'], view: View): Rendered => ({
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

export const adopted = (output: Outputs['adopt'], view: View): Rendered => ({
  ...lease(output, view),
  ...(output.adopted_from !== null && { note: `Taken over from ${output.adopted_from}, whose lease is void` }),
})

export const released = (output: Outputs['lease release'], { quiet }: View): Rendered => ({
  out: quiet ? '' : output.released ? 'Lease given back' : 'The lease was not held any more',
})
