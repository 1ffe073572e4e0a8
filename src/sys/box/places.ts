import { AwError } from '../../domain/errors.ts'
import { quotePath, splitPath } from '../../domain/paths.ts'

/** Where things are inside a `namespace` box. */
export const boxHome = '/home/agent'
export const boxHostname = 'aw'
export const boxPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
export const initPath = '/run/aw/box'
export const filesPath = '/run/aw/files'
export const gitIgnorePath = '/etc/gitignore'

const mebibyte = 1024 * 1024

/** How much each file system in memory may hold. */
export const sizes = {
  tmp: 1024 * mebibyte,
  home: 1024 * mebibyte,
  shm: 256 * mebibyte,
  run: 16 * mebibyte,
} as const

/** What others rely on to be the system's: nothing is mounted there or below. */
const system = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'etc', 'proc', 'dev', 'sys', 'run', 'boot']
/** What would be hidden whole; below them there is room. */
const whole = ['/', '/tmp', '/home', boxHome]

/** A place in a box to mount something at: absolute, plain, and not where the system or the box itself has something. */
export function assertPlace(path: unknown, what: string): void {
  const names = typeof path === 'string' ? splitPath(path) : []
  const plain = `/${names.join('/')}`
  const why =
    typeof path !== 'string' || path !== plain || names.includes('..') || /\p{Cc}/u.test(path)
      ? 'it is not a plain absolute path'
      : Buffer.byteLength(path) > 1024
        ? 'it is too long'
        : whole.includes(plain)
          ? 'it would hide what the sandbox needs'
          : system.includes(names[0] ?? '')
            ? 'it belongs to the system'
            : undefined
  if (why === undefined) return
  throw new AwError('invalid_input', `${what} cannot be at ${quotePath(String(path))} in a sandbox: ${why}`, {
    hint: 'Choose a directory of its own, as /workspace or /mnt/data',
    data: { path: String(path) },
  })
}
