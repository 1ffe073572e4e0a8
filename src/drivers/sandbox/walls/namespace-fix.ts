import { existsSync } from 'node:fs'
import { fixes } from '../../../domain/sandbox/fixes.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'

/** What a machine says about itself; other files in tests. */
export interface MachineFacts {
  readonly read: (path: string) => string | undefined
  readonly exists: (path: string) => boolean
  readonly isRoot: boolean
}

const thisMachine = (): MachineFacts => ({ read: readIfPresent, exists: existsSync, isRoot: process.getuid?.() === 0 })

/**
 * What would let this machine make namespaces, by what it says of itself and what the one who tried said. Undefined if
 * nothing is known to be in the way: then it was something else that failed.
 */
export function namespaceFix(said: string, about: MachineFacts = thisMachine()): string | undefined {
  const { read, exists, isRoot } = about
  const setting = (path: string): string | undefined => read(`/proc/sys/${path}`)?.trim()
  const inContainer = containerMarks.some(exists) || /docker|kubepods|containerd|lxc/.test(read('/proc/1/cgroup') ?? '')
  const isFiltered = /^Seccomp:\s+2/m.test(read('/proc/self/status') ?? '')
  if (!exists('/proc/self/ns/user')) return fixes.noUserNamespaces
  if (setting('user/max_user_namespaces') === '0') return fixes.maxUserNamespaces
  if (!isRoot && setting('kernel/unprivileged_userns_clone') === '0') return fixes.usernsClone
  if (!/permission|permitted|namespace|denied/i.test(said)) return undefined
  if (/mount proc/i.test(said)) return fixes.containerProc
  if (!isRoot && setting('kernel/apparmor_restrict_unprivileged_userns') === '1') return fixes.apparmor
  return inContainer || isFiltered ? fixes.container : undefined
}

const containerMarks = ['/.dockerenv', '/run/.containerenv', '/run/systemd/container']
