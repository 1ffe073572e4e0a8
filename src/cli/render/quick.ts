import type { Shown, View } from './view.ts'

/** Scripts take this line as it is, so it is the path and nothing else. */
export const pathOnly = (output: { path: string }): Shown => ({ out: output.path })

export const existence = (output: { exists: boolean }, { quiet }: View): Shown => ({
  out: quiet ? '' : output.exists ? 'yes' : 'no',
})

export function destroyed(
  output: { removed: boolean; workspace?: { workspace_id: string; state: string } },
  view: View,
): Shown {
  if (view.quiet) return { out: '' }
  if (!output.removed) return { out: 'Nothing to destroy' }
  const { workspace } = output
  if (workspace === undefined || workspace.state !== 'trashed') return { out: 'Workspace destroyed' }
  return { out: 'Workspace destroyed', note: `Bring it back with: aw undelete ${workspace.workspace_id}` }
}

/** Text means base64: the answer came through JSON. */
export const raw = (output: Uint8Array | string): Shown => ({
  out: typeof output === 'string' ? Buffer.from(output, 'base64') : output,
})
