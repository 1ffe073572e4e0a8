import { AwError } from '../../domain/errors.ts'
import type { SandboxDriver } from '../../ports/sandbox-driver.ts'
import type { BoxOptions } from './box-driver.ts'
import { findHostViewTools, hostViewDriver } from './host-view-level.ts'

/**
 * No walls at all: a command begins in its tree and may do what its user may. It still has a supervisor, so that it is
 * found again, ended whole, and kept to the limits that can be kept.
 */
export const noneSandbox = (options: BoxOptions): SandboxDriver =>
  hostViewDriver(options, {
    isolation: 'none',
    find: () => findHostViewTools(options, ['commands may do all that their user may']),
    assertNetwork({ mode }) {
      if (mode === 'host') return
      throw new AwError('sandbox_unenforceable', `The level none cannot keep a network of ${mode}`, {
        hint: 'Say that it has the network of the host, or use the isolation namespace',
        data: { network: mode },
      })
    },
    lacks: () => [],
  })
