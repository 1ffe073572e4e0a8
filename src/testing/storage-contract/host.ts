import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Place } from '../../ports/storage-driver.ts'
import type { StorageSubject } from '../storage-contract.ts'

/** What the kernel tells about trees on the host, asked by programs that know nothing of aw. */

export const isRoot = process.getuid?.() === 0

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const python = (...args: string[]): string =>
  execFileSync('python3', ['-B', ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 })

/** Everything there is to know, by path; `.` is the tree itself. */
export type Told = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export const tellTree = (path: string): Told => JSON.parse(python(script('host_tree.py'), 'tell', path)) as Told

/** Changes, removes or replaces everything. */
export const wreckTree = (path: string): void => void python(script('host_tree.py'), 'wreck', path)

/** Makes one of the trees in `fidelity_cases.py`. */
export const makeCase = (name: string, path: string): void => void python(script('fidelity_cases.py'), name, path)

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
  const first = await Promise.race([once(writer.stdout, 'data'), ended])
  if (String(first[0]) !== 'writing\n') throw new Error(`The writer has ended: ${first.join(' ')}`)
  return { [Symbol.asyncDispose]: stop }
}
