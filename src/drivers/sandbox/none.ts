import { AwError } from '../../domain/errors.ts'
import type { SandboxDriver } from '../../ports/sandbox-driver.ts'
import { boxDriver, type BoxOptions } from './boxes.ts'
import { machine as thisMachine } from './keepers.ts'
import { findOpen, planOpen } from './open-level.ts'

/**
 * No walls at all: a command begins in its tree and may do what its user may. It still has a supervisor, so that it is
 * found again, ended whole, and kept to the limits that can be kept.
 */
export function noneSandbox(options: BoxOptions): SandboxDriver {
  const machine = thisMachine()
  return boxDriver(options, {
    isolation: 'none',
    machine,
    find: async () => findOpen(options, ['commands may do all that their user may']),
    plan(spec) {
      if (spec.network.mode === 'host') return planOpen('none', options, machine, spec)
      throw new AwError('sandbox_unenforceable', `The level none cannot keep a network of ${spec.network.mode}`, {
        hint: 'Say that it has the network of the host, or use the isolation namespace',
        data: { network: spec.network.mode },
      })
    },
  })
}
