import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Setup = NonNullable<Outputs['template show']['setup']>

const maxFiles = 10

/** What `aw template show` tells of a set-up. */
export function setupRows(setup: Setup | null): (readonly [string, string])[] {
  if (setup === null) return []
  const { commands, network, allow, isolation, reused, ran_for, ran_at, duration_ms } = setup
  const took = `${(duration_ms / 1000).toFixed(1)} s`
  return [
    ...commands.map((command, i) => [i === 0 ? 'set-up' : '', visible(command)] as const),
    ['', `${isolation}, network: ${network === 'allowlist' ? allow.join(', ') : network}`],
    ...dependingOn(setup).map((text, i) => [i === 0 ? 'depends on' : '', text] as const),
    ['ran', reused ? `${ran_at}, ${took}, for version ${ran_for}; taken over` : `${ran_at}, ${took}`],
  ]
}

function dependingOn({ inputs, files, source_hash: source }: Setup): string[] {
  if (inputs.length === 0) return [`the whole source${source === null ? '' : ` (${source.slice(0, 12)})`}`]
  const all = Object.entries(files).map(([path, hash]) => `${visible(path)} (${String(hash).slice(0, 12)})`)
  const more = all.length > maxFiles ? [`and ${count(all.length - maxFiles, 'more file')}`] : []
  return [inputs.map(visible).join(', '), ...all.slice(0, maxFiles), ...more]
}

/** Each command, and what it wrote as it is. */
export function setupLog(log: Outputs['template log'], { quiet }: View): Rendered {
  const { commands, problem, notes, version, template } = log
  const parts = commands.flatMap(({ command, exit, output, lost }) => {
    const bytes = Buffer.from(output as Uint8Array)
    if (exit === null && bytes.length === 0) return []
    const head = quiet ? '' : `$ ${visible(command)}\n${lost > 0 ? `(${lost} bytes before this are not here)\n` : ''}`
    const end = bytes.length === 0 || bytes.at(-1) === 10 ? '' : '\n'
    return [Buffer.from(head), bytes, Buffer.from(end)]
  })
  const note = version === null ? `${template}: no version was made of it` : `${template}@${version}`
  return {
    out: Buffer.concat(parts),
    ...(notes.length > 0 && !quiet && { warning: notes.map(visible).join('\naw: ') }),
    ...(problem === null ? { note } : { notice: visible(problem.message) }),
  }
}
