import { closeSync, openSync } from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import type { StartOptions } from '../../../../ports/sandbox-driver.ts'
import { makeGroup, type GroupLimits } from '../../walls/cgroups/group.ts'
import type { CgroupHierarchies } from '../../walls/cgroups/hierarchies.ts'
import { ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { liveness } from '../../../../sys/processes/process.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { connectBox, sandboxGone } from '../connection.ts'
import type { Tag } from '../frames.ts'
import { handles } from '../handles.ts'
import { type ConnectedBox, lendConnection, takeIdleConnection } from '../idle-connections.ts'
import { launchBox, recordOwners } from './launch.ts'
import type { OpenedTree } from './opened-tree.ts'
import { makePlaceholders } from './protect.ts'
import {
  boxDirectory,
  type BoxOwners,
  type BoxRecord,
  ownersFile,
  readOwners,
  readRecord,
  writeRecord,
} from '../record.ts'
import { isAlive, placeholdersOfOtherBoxes, removeBox } from '../remove.ts'

/** All that makes a box. */
export interface BoxPlan {
  readonly record: Omit<BoxRecord, 'placeholders'>
  readonly group?:
    | { readonly places: CgroupHierarchies; readonly name: string; readonly limits: GroupLimits }
    | undefined
  /** For its supervisor, beside those of the walls. */
  readonly tags: readonly Tag[]
  /** Opens the tree, if it is still the one that was planned for. */
  readonly open: () => OpenedTree
}

const readyMs = 30_000
const connectMs = 10_000

/** Starts a box under a name that none has. On rejection nothing is left of it, and nothing in it ran. */
export async function startBox(run: string, name: string, plan: BoxPlan, options: StartOptions): Promise<ConnectedBox> {
  const directory = boxDirectory(run, name)
  if (isAlive(directory)) {
    throw new AwError('invalid_state', `The sandbox ${name} is running already`, { hint: 'Stop it first' })
  }
  await removeBox(run, name)
  hostFs.mkdirSync(directory, 0o700)
  try {
    return await make(run, name, directory, plan, options)
  } catch (error) {
    await removeBox(run, name)
    throw error
  }
}

async function make(
  run: string,
  name: string,
  directory: string,
  plan: BoxPlan,
  { signal, bridgeToken }: StartOptions,
): Promise<ConnectedBox> {
  using tree = plan.open()
  const placeholders = [...tree.placeholders, ...placeholdersOfOtherBoxes(run, name, plan.record.mountedIn.path)]
  const record = { ...plan.record, placeholders }
  writeRecord(directory, record, placeholders.length > 0)
  if (tree.makesPlaceholders && placeholders.length > 0) makePlaceholders(record.tree.path, tree.placeholders)
  if (plan.group !== undefined) makeGroup(plan.group.places, plan.group.name, plan.group.limits)
  const fd = openSync(directory, directoryFlags)
  try {
    using held = handles()
    using file = ownersFile(directory)
    const tags = [...tree.tags({ directory, held, placeholders, bridgeToken }), ...plan.tags]
    const { descriptors } = held
    const { supervisor, first } = await launchBox({
      path: directory,
      directory: fd,
      owners: file,
      tags,
      descriptors,
      timeoutMs: readyMs,
      signal,
    })
    // While the supervisor takes the connection.
    const connecting = connectBox(fd, { timeoutMs: connectMs, signal })
    const noted = new Promise<BoxOwners>((resolve) => resolve(recordOwners(file, supervisor, first)))
    const [connection, owners] = await Promise.all([connecting, noted])
    return { record, owners, connection }
  } finally {
    closeSync(fd)
  }
}

/** Connects to a box that somebody started; undefined if it does not live. */
export async function findBox(run: string, name: string, signal?: AbortSignal): Promise<ConnectedBox | undefined> {
  const directory = boxDirectory(run, name)
  const known = takeIdleConnection(directory)
  if (known !== undefined) return known
  const [record, owners] = [readRecord(directory), readOwners(directory)]
  if (record === undefined || owners === undefined || liveness(owners.supervisor) === 'dead') return undefined
  // Until who is inside was noted nothing runs there, and whoever started it may not be connected: one that ends with its
  // last client would end with us.
  if (owners.inside.length === 0) return undefined
  const fd = ignoreErrors(['ENOENT'], () => openSync(directory, directoryFlags))
  if (fd === undefined) return undefined
  try {
    const connection = await connectBox(fd, { timeoutMs: connectMs, signal })
    // Whoever answers must be whom the record names.
    if (connection.pid === owners.supervisor.pid) return lendConnection(directory, { record, owners, connection })
    await connection[Symbol.asyncDispose]()
    throw sandboxGone()
  } catch (error) {
    if (error instanceof AwError && error.code === 'sandbox_gone') return undefined
    throw error
  } finally {
    closeSync(fd)
  }
}
