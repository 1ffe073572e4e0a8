import { AwError } from '../../domain/errors.ts'
import type { SandboxDriver } from '../../ports/sandbox-driver.ts'
import { landlockFix, landlockGaps, landlockProblem, landlockVersion } from './walls/landlock.ts'
import type { BoxOptions } from './box-driver.ts'
import { findHostViewTools, hostViewDriver } from './host-view-level.ts'

/**
 * Rules instead of walls, by Landlock and a filter of system calls, for machines without user namespaces. Files: only the
 * tree and directories of the box's own are written, only they and the system are read. Network: the host's, or no
 * sockets at all. It does not hide that other files and processes are there, nor keep a part of the tree read-only.
 */
export const guardedSandbox = (options: BoxOptions): SandboxDriver =>
  hostViewDriver(options, {
    isolation: 'guarded',
    find() {
      const version = landlockVersion()
      if (version === 0) return { usable: false, reasons: [landlockProblem()], hint: landlockFix() }
      return findHostViewTools(options, [...landlockGaps(version), ...knownGaps])
    },
    assertNetwork(network) {
      // An empty allow-list allows nothing.
      if (network.mode !== 'allowlist' || network.allow.length === 0) return
      throw new AwError('sandbox_unenforceable', 'The level guarded cannot keep a network to an allow-list', {
        hint: 'Use the isolation namespace, or the network none or host',
        data: { network: network.mode },
      })
    },
    lacks: () => landlockGaps(landlockVersion()),
  })

/** What no kernel holds at this level. */
export const knownGaps = [
  'that files and processes of others are there can be seen',
  'the mode and times of files of the same user can be changed',
  'its commands make no terminals, no sockets with a path and no shared memory: nothing keeps them apart from others',
]
