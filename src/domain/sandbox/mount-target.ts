import { AwError } from '../errors.ts'
import { parsePath, quotePath, splitPath } from '../paths.ts'

/** The home of whoever works inside a `namespace` box. */
export const boxHome = '/home/agent'

/** What others rely on to be the system's: nothing is mounted there or below. */
const system = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'etc', 'proc', 'dev', 'sys', 'run', 'boot']
/** What would be hidden whole; below them there is room. */
const whole = ['/', '/tmp', '/home', boxHome]

/** A place in a box to mount something at: absolute, plain, and not where the system or the box itself has something. */
export function assertMountTarget(path: unknown, what: string): void {
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

/** A name of `sandbox.protect`, part by part from the root of the tree down. */
export function protectedNames(given: string): string[] {
  const { names } = parsePath(given, { absolute: 'reject', root: false })
  if (!names.includes('..')) return [...names]
  throw notMountable(given, 'it climbs with ".."', 'Name it from the root of the workspace down')
}

export const notMountable = (path: string, why: string, hint = 'Leave it out of what is protected'): AwError =>
  new AwError('sandbox_unenforceable', `${quotePath(path)} cannot be mounted in the sandbox: ${why}`, {
    hint,
    data: { protect: path },
  })
