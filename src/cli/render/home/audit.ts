import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { pairsOf } from '../columns.ts'
import { count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

export function verified(output: Outputs['audit verify'], { paint }: View): Rendered {
  const { intact, checkpoint, unsealed, problems, events, streams } = output
  if (!intact) {
    const lines = problems.map((problem) => `  ${paint.red('✗')} ${visible(describe(problem))}`)
    return { out: [paint.red('The log has been changed or damaged'), ...lines].join('\n') }
  }
  const after =
    unsealed === 0 ? '' : `; ${count(unsealed, 'record')} after it ${unsealed === 1 ? 'is' : 'are'} not sealed yet`
  const first =
    checkpoint === null
      ? `Intact; no checkpoint yet, so none of its ${count(events, 'record')} is sealed`
      : `Intact up to checkpoint ${checkpoint.number}${after}`
  const rest = [`${count(events, 'record')} in ${count(streams, 'stream')}`, anchors[output.anchor]]
  return { out: [paint.green(first), ...rest.map((text) => `  ${text}`)].join('\n') }
}

const anchors = {
  checked: 'The anchor file agrees',
  missing: 'The anchor file is missing: a checkpoint you kept elsewhere is the only other witness',
  none: 'The anchor is empty until the first checkpoint',
} as const

function describe({ message, stream, version }: Outputs['audit verify']['problems'][number]): string {
  const where = [stream, version === null ? null : `record ${version}`].filter((part) => part !== null).join(', ')
  return where === '' ? message : `${message} (${where})`
}

export function sealed({ checkpoint }: Outputs['audit seal'], view: View): Rendered {
  if (checkpoint === null) return { out: 'Nothing to seal: the log is empty' }
  const entries: [string, string][] = [
    ['checkpoint', String(checkpoint.number)],
    ['at', checkpoint.at],
    ['records', String(checkpoint.events)],
    ['hash', checkpoint.hash],
  ]
  return { out: pairsOf(entries, view), note: 'Keep the hash elsewhere: it vouches for everything before it' }
}
