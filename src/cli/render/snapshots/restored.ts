import type { Outputs } from '../../../api/table.ts'
import { isInsideDotGit } from '../../../domain/git/patch.ts'
import { visible } from '../../../domain/text/visible.ts'
import { letters, painterOf } from './diff.ts'
import { count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Restored = Outputs['restore']

const most = 5

/** Each says what is true now and how to go back, also to who reads the output of a script later. */
export const restored = (output: Restored, view: View): Rendered => {
  const { workspace, kept } = output
  const how = kept === null ? `aw undo ${workspace}` : `aw restore ${workspace} ${kept}`
  return confirmation(output, view, `What was there is kept. Take it back with: ${how}`)
}

/** What is undone of single paths is nothing that `redo` knows. */
export const undone = (output: Restored, view: View): Rendered => {
  const { workspace, kept, paths } = output
  const how = paths === null ? `redo ${workspace}${later(output)}` : `restore ${workspace} ${kept ?? 'head'}`
  return confirmation(output, view, `Take it back with: aw ${how}`)
}

export const redone = (output: Restored, view: View): Rendered =>
  confirmation(output, view, `Take it back with: aw undo ${output.workspace}${later(output)}`)

/** When something else was changed or kept meanwhile. */
const later = ({ workspace, kept }: Restored): string =>
  kept === null ? '' : `; later with: aw restore ${workspace} ${kept}`

function confirmation(output: Restored, view: View, notice: string): Rendered {
  const { workspace, snapshot, branch, paths, added, changed, removed } = output
  if (view.quiet) return { out: '' }
  const total = added + changed + removed
  const what = paths === null ? workspace : `${count(paths.length, 'path')} of ${workspace}`
  const verb = paths === null || paths.length === 1 ? 'is' : 'are'
  const onward = [
    ...(view.input['branch'] === undefined ? [] : [`Work goes on with ${branch}`]),
    ...output.split.map(
      (path) => `${visible(path)} is a file of its own now: its other names were not restored with it`,
    ),
    ...(output.ended ? ['What ran in its sandbox was ended'] : []),
  ]
  if (total === 0) return { out: [`${what} ${verb} as in ${snapshot}; nothing had to change`, ...onward].join('\n') }
  const counts = [
    ...(added > 0 ? [`${added} came back`] : []),
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
  ]
  const first = `${what} ${verb} as in ${snapshot} now: ${counts.join(', ')}`
  return { out: [first, ...(view.terminal ? some(output, total, view) : []), ...onward].join('\n'), notice }
}

const rank = ({ path }: Restored['differences'][number]): number => (isInsideDotGit(path) ? 1 : 0)

/** With the letters of `aw diff`. */
function some({ differences }: Restored, total: number, view: View): string[] {
  // What git keeps for itself says least.
  const shown = differences.toSorted((one, other) => rank(one) - rank(other)).slice(0, most)
  const more = total - shown.reduce((sum, { change }) => sum + (change === 'renamed' ? 2 : 1), 0)
  return [
    ...shown.map(({ change, path, from }) => {
      const name = from === null ? visible(path) : `${visible(from)} → ${visible(path)}`
      return `  ${painterOf(change, view)(letters[change])}  ${name}`
    }),
    ...(more > 0 ? [view.paint.dim(`  and ${more} more`)] : []),
  ]
}
