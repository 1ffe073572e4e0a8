import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../domain/errors.ts'
import type { Host } from '../../ports/host.ts'
import { initRepository } from '../../sys/git/init.ts'
import { copyIn, copyOut } from '../../sys/copy/host-copy.ts'
import { publish, published, unpublish } from '../../sys/fs/links.ts'
import { lock } from '../../sys/locks/lock.ts'
import { killProcess, liveness, ownProcess } from '../../sys/processes/process.ts'
import { processesUsing } from '../../sys/processes/process-use.ts'
import { assertTarget } from '../../sys/copy/target-path.ts'

interface Places {
  readonly home: string
  readonly storageRoot: string
  /** The directory of lock files; nothing else is in it. */
  readonly locks: string
  /** Where agents work: no program of theirs is run. */
  readonly avoid: readonly string[]
}

export function linuxHost({ home, storageRoot, locks, avoid }: Places): Host {
  const guarded = [home, locks, ...avoid]
  return {
    owner: ownProcess,
    liveness,
    kill: killProcess,
    lock: async (name, options) => lock(join(locks, `${checkedLockName(name)}.lock`), options),
    pause: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined),
    users: async (directory, options) => processesUsing(directory, { ...options, sign: join(home, 'log.db') }),
    publish: (path, target) => publish(path, target, home),
    unpublish: async (path, target, base) => unpublish(path, target, base, home),
    published: async (path) => published(path),
    copyIn: (source, to, options) => copyIn(source, to, guarded, options),
    copyOut: (source, to, options) => copyOut(source, to, { guarded, home, storageRoot }, options),
    assertTarget: (path) => assertTarget(path, { home, storageRoot }),
    gitInit: async (directory, user) => initRepository(directory, user),
  }
}

/** A name leads nowhere but into the directory of locks, whatever it was made from. */
function checkedLockName(name: string): string {
  if (name !== '' && !/[/\0]/.test(name) && Buffer.byteLength(name) <= 200) return name
  throw new AwError('invalid_input', `${JSON.stringify(name.slice(0, 100))} is no name for a lock`)
}
