import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { columns, type Cell, type Row } from '../columns.ts'
import { bytes, count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Checked = Outputs['verify']['snapshots'][number]

export function verified({ intact, snapshots }: Outputs['verify'], view: View): Rendered {
  if (snapshots.length === 0) return { out: '', note: 'There are no snapshots to check' }
  const shown = view.quiet ? snapshots.filter(({ problems }) => problems.length > 0) : snapshots
  // On a narrow terminal the verdict matters more than the amounts.
  const wide = view.columns >= 90
  const rows = shown.map((one): Row => [
    one.snapshot,
    verdict(one, view),
    ...(wide
      ? [right(String(one.files)), right(view.terminal ? bytes(one.bytes) : String(one.bytes)), one.method]
      : []),
    { text: one.workspace, paint: view.paint.dim },
  ])
  const amounts = wide ? [right('FILES'), right('SIZE'), 'BY'] : []
  const table = columns(['SNAPSHOT', 'RESULT', ...amounts, 'WORKSPACE'], rows, view)
  const notice = noticeOf(intact, shown)
  if (!view.terminal) return { out: table, ...notice }
  const problems = shown.flatMap((one) =>
    one.problems.map((problem) => `  ${view.paint.red('✗')} ${text(one, problem)}`),
  )
  return { out: [table, ...problems, ...(view.quiet ? [] : [sum(intact, snapshots, view)])].join('\n'), ...notice }
}

function noticeOf(intact: boolean | null, snapshots: readonly Checked[]): Pick<Rendered, 'notice'> {
  const broken = snapshots.find(({ problems }) => problems.length > 0)
  if (intact === null)
    return {
      notice:
        'Nothing to compare with yet: these snapshots were read, and the next aw verify compares with what was found',
    }
  if (broken === undefined) return {}
  const { workspace, snapshot } = broken
  return {
    notice: `Remove what is damaged (aw snapshot remove ${workspace} ${snapshot}) and restore from another: aw snapshots ${workspace}`,
  }
}

const right = (text: string): Cell => ({ text, right: true })

/** A pipe has no room for more than the line: it gets the problems in it. */
function verdict(one: Checked, { terminal, paint }: View): Cell {
  if (one.problems.length > 0) {
    const about = terminal ? count(one.problems.length, 'problem') : one.problems.map(problemText).join('; ')
    return { text: about, paint: paint.red }
  }
  if (one.method === 'none') return { text: 'not checked', paint: paint.yellow }
  return { text: 'intact', paint: paint.green }
}

const problemText = ({ path, message }: Checked['problems'][number]): string =>
  path === '' ? message : `${path}: ${message}`

const text = ({ snapshot }: Checked, problem: Checked['problems'][number]): string =>
  visible(`${snapshot}: ${problemText(problem)}`)

function sum(intact: boolean | null, snapshots: readonly Checked[], { paint }: View): string {
  const broken = snapshots.filter(({ problems }) => problems.length > 0).length
  if (intact === false) return paint.red(`${broken} of ${count(snapshots.length, 'snapshot')} damaged`)
  const unchecked = snapshots.filter(({ method }) => method === 'none').length
  if (intact === null) return paint.yellow(`${count(unchecked, 'snapshot')} not checked`)
  const rest = unchecked === 0 ? '' : `; ${unchecked} could not be checked`
  return paint.green(`${count(snapshots.length - unchecked, 'snapshot')} intact${rest}`)
}
