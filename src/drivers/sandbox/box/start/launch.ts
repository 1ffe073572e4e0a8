import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { AwError, toAwError } from '../../../../domain/errors.ts'
import { fixes } from '../../../../domain/sandbox/fixes.ts'
import type { Owner } from '../../../../domain/workspace/state.ts'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { readIfPresent } from '../../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { namespaceFix } from '../../walls/namespace-fix.ts'
import { childrenOf, processOwner } from '../../../../sys/processes/process.ts'
import { startProgram, type Started } from '../../../../sys/processes/start-program.ts'
import { encodeTags, type Tag } from '../frames.ts'
import { boxProgram } from '../program.ts'
import type { BoxOwners, OwnersFile } from '../record.ts'
import { anotherTree } from '../tree.ts'

interface Launch {
  /** The box's own, as a path and open. */
  readonly path: string
  readonly directory: number
  /** Told of the supervisor at once, so that it can be found and ended. */
  readonly owners: OwnersFile
  /** All of the spec but the version and the directory. */
  readonly tags: readonly Tag[]
  /** In the order of their numbers, from 4 on. */
  readonly descriptors: readonly number[]
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

const supervisors = counted({ start: startProgram })

/**
 * Starts a supervisor, which lives on when we are gone, and waits until its box stands. On rejection it has ended and
 * nothing of it runs. What it and its tools complain about is in the file `log`.
 */
export async function launchBox(launch: Launch): Promise<{ supervisor: Owner; first: number }> {
  const child = startSupervisor(launch)
  try {
    const supervisor = processOwner(child.pid)
    if (supervisor !== undefined) launch.owners.write({ supervisor, inside: [] })
    const first = await untilReady(child, launch)
    if (supervisor === undefined) throw failed(launch, 'its supervisor has ended')
    return { supervisor, first }
  } catch (error) {
    await ended(child)
    throw error
  } finally {
    child.output.destroy()
  }
}

/** Notes who is inside, so that it is known when all of them are gone, whoever was killed. */
export function recordOwners(file: OwnersFile, supervisor: Owner, first: number): BoxOwners {
  const owner = processOwner(first)
  const owners = { supervisor, inside: owner === undefined ? [] : [owner, ...childrenOf(first)] }
  file.write(owners)
  return owners
}

/** The spec is a file that was written whole: one that we did not finish can never be taken for one. */
function startSupervisor(launch: Launch): Started {
  const { path, directory, tags, descriptors } = launch
  const spec = join(path, 'spec')
  write(spec, encodeTags([['V', 1], ['D', 3], ...tags]))
  const log = hostFs.createSync(join(path, 'log'), 0o600)
  const input = openSync(spec, 'r')
  try {
    return supervisors.start([boxProgram(), 'supervise'], [input, 'pipe', log, directory, ...descriptors])
  } catch (error) {
    throw error instanceof AwError ? error : failed(launch, `its supervisor cannot be run: ${toAwError(error).message}`)
  } finally {
    closeSync(input)
    closeSync(log)
  }
}

function write(file: string, bytes: Buffer): void {
  const fd = hostFs.createSync(file, 0o600)
  try {
    hostFs.writeSync(fd, bytes)
  } finally {
    closeSync(fd)
  }
}

function untilReady({ output }: Started, launch: Launch): Promise<number> {
  const { timeoutMs, signal } = launch
  return new Promise((resolve, reject) => {
    let text = ''
    const late = setTimeout(
      () => settle(() => reject(new AwError('timeout', `The sandbox was not ready within ${timeoutMs} ms`))),
      timeoutMs,
    )
    const cancel = (): void =>
      settle(() => reject(new AwError('aborted', 'Starting the sandbox was cancelled', { cause: signal?.reason })))
    const settle = (act: () => void): void => {
      clearTimeout(late)
      signal?.removeEventListener('abort', cancel)
      act()
    }
    const decide = (): void => {
      const ready = /^ready (\d+)$/m.exec(text)?.[1]
      settle(() => (ready === undefined ? reject(refusal(launch, text)) : resolve(Number(ready))))
    }
    if (signal?.aborted) return cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    output.setEncoding('utf8')
    output.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 4096)
      if (text.includes('\n')) decide()
    })
    // What cannot be read is closed.
    output.on('error', () => undefined)
    output.once('close', decide)
  })
}

/** It must not outlive a start that has failed. */
async function ended(child: Started): Promise<void> {
  child.signal('SIGTERM')
  const hard = setTimeout(() => child.signal('SIGKILL'), 5_000)
  await child.ended()
  clearTimeout(hard)
}

/** `error <errno> <what failed>`, or nothing if it died. */
function refusal(launch: Launch, text: string): AwError {
  const [, number = '0', what = 'its supervisor has ended'] = /^error (\d+) (.*)$/m.exec(text) ?? []
  const errno = Number(number)
  if (errno === constants.errno.ESTALE) return anotherTree(what)
  return failed(launch, what, errno)
}

function failed({ path }: Launch, what: string, errno = 0): AwError {
  const said = (readIfPresent(join(path, 'log')) ?? '').trim().slice(-2000)
  return new AwError('sandbox_unenforceable', `The sandbox could not be started: ${said === '' ? what : said}`, {
    hint: namespaceFix(said === '' ? what : said) ?? fixes.doctor,
    data: { what, errno },
  })
}
