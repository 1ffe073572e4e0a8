import { constants } from 'node:os'

// Two names share a number here and there; the first of these is the one that Node uses.
const names = new Map<number, string>()
for (const [name, value] of Object.entries(constants.errno)) if (!names.has(value)) names.set(value, name)

/** A failure of a system call, as Node throws them. */
export function systemError(errno: number, syscall: string): NodeJS.ErrnoException {
  const code = names.get(errno) ?? `E${errno}`
  return Object.assign(new Error(`${code}: ${syscall}`), { code, errno: -errno, syscall })
}
