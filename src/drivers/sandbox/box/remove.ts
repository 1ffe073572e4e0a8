import { closeSync, lstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../domain/errors.ts'
import type { Owner } from '../../../domain/workspace/state.ts'
import { removeGroup } from '../walls/cgroups/group.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { monotonicMs } from '../../../sys/home/monotonic.ts'
import { killProcess, liveness, processOwner } from '../../../sys/processes/process.ts'
import { processesHaving } from '../../../sys/processes/process-use.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { connectBox } from './connection.ts'
import { request, uint32 } from './frames.ts'
import { removePlaceholders } from './start/protect.ts'
import {
  boxDirectory,
  boxNames,
  type BoxRecord,
  overLimitFile,
  type Placeholder,
  readOwners,
  readRecord,
} from './record.ts'

const patienceMs = 15_000

/** Whether a box lives, as far as its record tells: a pid alone is never believed. */
export function isAlive(directory: string): boolean {
  const owners = readOwners(directory)
  return owners !== undefined && liveness(owners.supervisor) !== 'dead'
}

/**
 * Ends what lives of a box and removes all that stands for it, whoever was interrupted when. Absent = done. It is asked to
 * end first, as then it cleans up after itself; one that does not answer is killed.
 */
export async function removeBox(run: string, name: string): Promise<void> {
  const directory = boxDirectory(run, name)
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return
  const record = readRecord(directory)
  const owners = readOwners(directory)
  await endSupervisor(directory, owners?.supervisor)
  // Whoever started it may have noted meanwhile who is inside.
  for (const inside of (readOwners(directory) ?? owners)?.inside ?? []) await gone(inside)
  if (record !== undefined) {
    await removeGroup(record.cgroups, patienceMs)
    const { path, identity } = record.mountedIn
    removePlaceholders(path, identity, notInUse(run, name, record))
  }
  if (!removeUsual(directory)) await removeTree(run, name)
}

/** What every box has, at once. False if there is more, as where commands had directories in it. */
function removeUsual(directory: string): boolean {
  const remove = (): true => {
    for (const file of ['spec', 'log', 'owner.json', 'record.json', overLimitFile]) {
      ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(join(directory, file)))
    }
    ignoreErrors(['ENOENT'], () => hostFs.rmdirSync(directory))
    return true
  }
  return ignoreErrors(['ENOTEMPTY', 'ENOTDIR'], remove) ?? false
}

async function endSupervisor(directory: string, known: Owner | undefined): Promise<void> {
  const owner = known ?? straySupervisor(directory) ?? (await listeningSupervisor(directory))
  if (owner === undefined || liveness(owner) === 'dead') return
  try {
    await askToEnd(directory)
    await waitForExit(owner, patienceMs)
  } catch {
    // Whatever is wrong with it, the kernel ends it and the box with it.
    await killProcess(owner, { timeoutMs: patienceMs, confirm: async () => true })
  }
}

/** One that was started a moment before whoever started it was killed: it has the box's directory open, as root sees. */
function straySupervisor(directory: string): Owner | undefined {
  const found = processesHaving(directory).find(({ command }) => command.startsWith('aw-box'))
  return found && processOwner(found.pid)
}

/** The same for an ordinary user, who cannot look into it: whoever listens there. Before it listens nothing runs in it. */
async function listeningSupervisor(directory: string): Promise<Owner | undefined> {
  // What a killed process left there may be a file.
  if (ignoreErrors(['ENOENT', 'ENOTDIR'], () => lstatSync(join(directory, 's'))) === undefined) return undefined
  const fd = openSync(directory, directoryFlags)
  try {
    await using box = await connectBox(fd, { timeoutMs: 2_000 })
    return processOwner(box.pid)
  } catch {
    // Nobody does, and a supervisor to which nobody ever came ends by itself.
    return undefined
  } finally {
    closeSync(fd)
  }
}

async function askToEnd(directory: string): Promise<void> {
  const fd = openSync(directory, directoryFlags)
  try {
    await using box = await connectBox(fd, { timeoutMs: 2_000 })
    const failure = (_: number, text: string): AwError => new AwError('aw_command_failed', text)
    await box.ask(request.stop, uint32(0), { timeoutMs: 5_000, failure })
    await Promise.race([box.closed, sleep(patienceMs, undefined, { ref: false })])
  } finally {
    closeSync(fd)
  }
}

/** The kernel ends it with its supervisor; one that does not notice is killed. */
async function gone(owner: Owner): Promise<void> {
  try {
    await waitForExit(owner, 2_000)
  } catch {
    await killProcess(owner, { timeoutMs: patienceMs, confirm: async () => true })
  }
}

export async function waitForExit(owner: Owner, timeoutMs: number): Promise<void> {
  const until = monotonicMs() + timeoutMs
  // One that is about to end is gone in less than a timer takes.
  for (let tries = 0; liveness(owner) === 'alive'; tries++) {
    if (monotonicMs() > until) throw new AwError('timeout', `Process ${owner.pid} did not end in ${timeoutMs} ms`)
    await (tries < 10 ? immediate() : sleep(Math.min(2 ** (tries - 10), 50)))
  }
}

/** Another box on the same tree may be mounted on the same names: they go with the last one. */
function notInUse(run: string, name: string, { mountedIn, placeholders }: BoxRecord): Placeholder[] {
  if (placeholders.length === 0) return []
  const used = new Set(placeholdersOfOtherBoxes(run, name, mountedIn.path).map(({ path }) => path))
  return placeholders.filter(({ path }) => !used.has(path))
}

/** What living boxes on a tree have made to be mounted on. */
export const placeholdersOfOtherBoxes = (run: string, name: string, tree: string): Placeholder[] =>
  boxNames(run).flatMap((other) => {
    const directory = boxDirectory(run, other)
    const record = other === name ? undefined : readRecord(directory)
    return record?.mountedIn.path === tree && isAlive(directory) ? record.placeholders : []
  })
