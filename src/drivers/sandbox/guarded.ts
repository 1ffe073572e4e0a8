import { AwError } from '../../domain/errors.ts'
import type { SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { landlockFix, landlockLacks, landlockProblem, landlockVersion } from './walls/landlock.ts'
import { boxDriver, type BoxOptions, type Found, type LevelPlan } from './boxes.ts'
import { machine as thisMachine } from './keepers.ts'
import { findOpen, isOffline, planOpen } from './open-level.ts'

/**
 * Rules instead of walls, by Landlock and a filter of system calls, for machines without user namespaces. Files: only the
 * tree and directories of the box's own are written, only they and the system are read. Network: the host's, or no
 * sockets at all. It does not hide that other files and processes are there, nor keep a part of the tree read-only.
 */
export function guardedSandbox(options: BoxOptions): SandboxDriver {
  const machine = thisMachine()
  return boxDriver(options, { isolation: 'guarded', machine, find, plan })

  async function find(): Promise<Found<void>> {
    const version = landlockVersion()
    if (version === 0) return { usable: false, reasons: [landlockProblem()], hint: landlockFix() }
    return findOpen(options, [...landlockLacks(version), ...always])
  }

  function plan(spec: SandboxSpec): LevelPlan {
    if (spec.network.mode === 'allowlist' && !isOffline(spec)) {
      throw new AwError('sandbox_unenforceable', 'The level guarded cannot keep a network to an allow-list', {
        hint: 'Use the isolation namespace, or the network none or host',
        data: { network: spec.network.mode },
      })
    }
    const decided = planOpen('guarded', options, machine, spec)
    const { planned } = decided
    const notes = [...planned.plan.notes, ...landlockLacks(landlockVersion())]
    return { ...decided, planned: { ...planned, plan: { ...planned.plan, notes } } }
  }
}

/** What no kernel holds at this level. */
export const always = [
  'that files and processes of others are there can be seen',
  'the mode and times of files of the same user can be changed',
  'its commands make no terminals, no sockets with a path and no shared memory: nothing keeps them apart from others',
]
