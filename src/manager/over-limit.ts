import { sizeText } from '../domain/size.ts'
import { isLive, nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Core, Finding } from './core.ts'
import { maxBytesOf, roomOf } from './size-limit.ts'

/** So many are named one by one. */
const most = 5

/** Workspaces that are known to be at or over their limit: from what the kernel or the last measurement says. */
export async function overLimit(core: Core): Promise<Finding[]> {
  const live = (await core.store.list()).filter((one) => isLive(one.state) && maxBytesOf(one) > 0)
  const found: Finding[] = []
  for (const workspace of live) {
    const message = await problemOf(core, workspace)
    if (message === undefined) continue
    const hint = `Let it grow: aw limit ${nameOf(workspace)} MB; or remove what is not needed in it`
    found.push({ name: 'size limits', status: 'warning', message, hint })
  }
  const more = found.length - most
  if (more <= 0) return found
  const rest = { message: `${more} more are at their size limit`, hint: 'See them all with: aw usage' }
  return [...found.slice(0, most), { name: 'size limits', status: 'warning', ...rest }]
}

async function problemOf(core: Core, workspace: Workspace): Promise<string | undefined> {
  const limit = `${workspace.config.max_size_mb} MB`
  const room = core.storage.capabilities.quota === 'kernel' ? await roomOf(core, workspace) : null
  if (room !== null) return room > 0 ? undefined : `${nameOf(workspace)} is at its limit of ${limit}`
  const known = await core.sizes.get(workspace.id)
  if (known?.generation !== workspace.generation || known.bytes <= maxBytesOf(workspace)) return undefined
  return `${nameOf(workspace)} holds ${sizeText(known.bytes)} beyond what it began as, and ${limit} are its limit`
}
