import type { Outputs } from '../../../api/table.ts'
import { noPathNotice, omittedSubvolumes, workspacePath } from '../basic.ts'
import { count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

/**
 * The path of each new workspace on a line of its own, unless it was printed when it was made. Those that could not be
 * made are told beside.
 */
export function forked({ source, snapshot, forks, left_out: left }: Outputs['fork'], { told }: View): Rendered {
  const made = forks.flatMap(({ workspace }) => (workspace === null ? [] : [workspace]))
  const failures = forks.flatMap(({ name, error }) =>
    // What is wrong with a name says which it is by itself.
    error === null
      ? []
      : [error.message.startsWith(`${name} `) ? error : { ...error, message: `${name}: ${error.message}` }],
  )
  const out = made
    .flatMap((workspace) => (told.has(workspace.workspace_id) ? [] : [workspacePath(workspace).out]))
    .join('\n')
  const [hidden] = made.filter(({ path }) => path === null)
  const note = `${count(made.length, 'fork')} of ${source} at ${snapshot}`
  return {
    out,
    ...(made.length > 0 ? { note } : {}),
    ...(hidden === undefined ? {} : { notice: `${note}\n${noPathNotice(hidden.workspace_id)}` }),
    ...(left === undefined ? {} : { warning: omittedSubvolumes(left) }),
    ...(failures.length > 0 ? { failures } : {}),
  }
}
