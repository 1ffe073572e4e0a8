import type { Inputs } from '../../api/table.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { assertAccess, assertAllowed } from '../../domain/workspace/allow.ts'
import { mountOf, mountSetting } from '../../domain/sandbox/mount.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { agentOf } from '../agents/profiles.ts'
import { readOnlyNames } from '../sandboxes/plan.ts'
import { sandboxOfCaller } from '../sandboxes/bridge.ts'
import type { PathOptions } from '../../ports/files.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { assertLease } from '../access/lease-fence.ts'
import { volumeOf } from '../kernel/places.ts'
import { explainQuotaError } from '../space/size-limit.ts'
import { openReached, type Tree } from '../kernel/trees.ts'

type Doing = 'read' | 'write'

/** Opens the tree of a workspace for one read or write and closes it. Takes no lock. */
export async function withTree<T>(
  core: Core,
  request: Request,
  ref: string,
  doing: Doing,
  work: (tree: Tree, workspace: Workspace) => T | Promise<T>,
): Promise<T> {
  const { tree: opened, workspace } = await openForAccess(core, request, ref, doing)
  using tree = opened
  try {
    if (doing === 'write') await assertLease(core, request, workspace.id, nameOf(workspace))
    return await work(tree, workspace)
  } catch (error) {
    throw explainQuotaError(workspace, error)
  }
}

/** The caller closes the tree. */
export async function openForAccess(
  core: Core,
  { within: box }: Request,
  ref: string,
  doing: Doing,
): Promise<{ tree: Tree; workspace: Workspace }> {
  const workspace = await findWorkspace(core, ref)
  assertAllowed(workspace, doing === 'read' ? 'files_read' : 'files_write')
  assertAccess(workspace, doing)
  const tree = await openReached(core, volumeOf(workspace), {
    protect: [profileOf(workspace.profile).metadata],
    hold: box === undefined || doing === 'read' ? [] : await readOnlyForCaller(core, workspace, box),
    publicRoot: rootsOf(core, workspace, box),
  })
  return { tree, workspace }
}

/** Absolute paths that mean its root. */
export const rootsOf = (core: Core, workspace: Workspace, box: string | undefined): string[] => [
  workspace.path,
  mountOf(mountSetting(core.config), workspace),
  ...mountsOf(workspace, box),
]

/** Of the sandbox of a command's own, from which a caller asks: the settings may be others by now. */
const mountsOf = ({ commands = [] }: Workspace, box: string | undefined): string[] =>
  commands.flatMap(({ sandbox, inside }) => (sandbox === box && inside !== undefined ? [inside.mount] : []))

/** What is read-only in the sandbox that a caller is in is so for its calls too. */
async function readOnlyForCaller(core: Core, workspace: Workspace, box: string): Promise<string[]> {
  const { agent } = sandboxOfCaller(workspace, box)
  return readOnlyNames(core, workspace, agent === undefined ? undefined : (await agentOf(core, agent)).profile.protect)
}

/** What an absolute path means to whoever asks about this workspace. */
export const absoluteIn = ({ profile }: Workspace, asked: Asked): PathOptions['absolute'] =>
  asked === 'rebase' ? profileOf(profile).rebase : asked

type Asked = Inputs['fs read']['absolute']
