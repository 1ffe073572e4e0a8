import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Place } from '../../../src/ports/storage-driver.ts'
import type { StorageSubject } from '../storage.ts'

/** What the kernel tells about trees on the host, asked by programs that know nothing of aw. */

export const isRoot = process.getuid?.() === 0

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Everything there is to know, by path; `.` is the tree itself. */
export type Told = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export const tellTree = async (path: string): Promise<Told> => (await ask('tell', path)) as Told

/** Changes, removes or replaces everything. */
export const wreckTree = (path: string): Promise<unknown> => ask('wreck', path)

/** Makes one of the trees in `fidelity_cases.py`. */
export const makeCase = (name: string, path: string): Promise<unknown> => ask('make', name, path)

/** Whether it can be mounted as if it belonged to others. */
export const canBeMapped = async (path: string): Promise<boolean> => (await ask('mapped', path)) as boolean

interface Outsider {
  readonly input: Writable
  readonly answers: AsyncIterator<string>
}

let outsider: Outsider | undefined

/** It is started once, since that takes longer than its work, and ends when its input does, which is with this process. */
function startOutsider(): Outsider {
  const { stdin, stdout } = spawn('python3', ['-B', script('host_tree.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { input: stdin, answers: createInterface(stdout)[Symbol.asyncIterator]() }
}

async function ask(...request: string[]): Promise<unknown> {
  outsider ??= startOutsider()
  outsider.input.write(`${JSON.stringify(request)}\n`)
  const { value } = (await outsider.answers.next()) as { value: string | undefined }
  const { answer, error } = JSON.parse(value ?? '{ "error": "it has ended" }') as { answer?: unknown; error?: string }
  if (error !== undefined) throw new Error(`${request.join(' ')}: ${error}`)
  return answer
}

export async function pathOf({ storage }: StorageSubject, place: Place): Promise<string> {
  await storage.ready(place)
  return storage.attachment(place).path
}

/** An extended attribute; undefined takes it away. */
export function setAttribute(path: string, name: string, value: string | undefined): void {
  execFileSync('setfattr', value === undefined ? ['-x', name, path] : ['-n', name, '-v', value, path])
}

/**
 * Starts a writer of numbered records in a directory: another process, and for root in another mount namespace, so that
 * nothing that is done to the mounts here stops it. It writes when this resolves, and is gone when it is disposed of.
 */
export async function startWriter(path: string): Promise<AsyncDisposable> {
  const program = ['python3', '-B', script('record_writer.py'), path]
  const writer = spawn('env', isRoot ? ['unshare', '--mount', ...program] : program, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(writer, 'exit')
  const stop = async (): Promise<void> => {
    writer.kill('SIGKILL')
    await ended
  }
  const [first] = (await Promise.race([once(writer.stdout, 'data'), ended])) as unknown[]
  if (String(first) !== 'writing') {
    await stop()
    throw new Error(`The writer has said ${String(first)}`)
  }
  return { [Symbol.asyncDispose]: stop }
}
