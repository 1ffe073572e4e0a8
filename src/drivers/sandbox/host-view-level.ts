import { AwError, toAwError } from '../../domain/errors.ts'
import type { Network } from '../../domain/sandbox/spec.ts'
import type { SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { hostViewUser, planHostView, treeNotOnHost } from './box/start/host-view.ts'
import { futureOwner } from './box/start/user.ts'
import { ensureRunDirectory } from './box/record.ts'
import { boxDriver, type BoxOptions, type FoundTools, type LevelPlan } from './box-driver.ts'
import { assertBrokers } from './brokers.ts'
import { machineLimits as thisMachine } from './limit-enforcers.ts'
import { planLimits, type PlannedLimits } from './limits.ts'

interface HostViewLevel {
  readonly isolation: 'none' | 'guarded'
  find(): FoundTools<void>
  /** Refuses a network that it cannot keep. */
  assertNetwork(network: Network): void
  /** What it does not hold on this machine, for the notes of every plan. */
  readonly lacks: () => readonly string[]
}

/** What `none` and `guarded` have in common: they mount nothing for their commands. */
export function hostViewDriver(options: BoxOptions, level: HostViewLevel): SandboxDriver {
  const { run } = options
  const { isolation } = level
  const machine = thisMachine()
  return boxDriver(options, { isolation, machine, find: async () => level.find(), check, plan })

  function check(...[spec, trees]: Parameters<SandboxDriver['check']>): void {
    decide(spec)
    if (trees.visibility !== 'host') throw treeNotOnHost(isolation)
    hostViewUser(futureOwner(trees), spec, isolation)
  }

  /** All that does not depend on the tree. */
  function decide(spec: Omit<SandboxSpec, 'attachment'>): PlannedLimits {
    level.assertNetwork(spec.network)
    const planned = planLimits(spec, machine.keepers('open'))
    assertBrokers(isolation, spec)
    const protect = [...spec.protect, ...(spec.protectWithin ?? [])]
    if (protect.length === 0) return planned
    throw new AwError(
      'sandbox_unenforceable',
      `The level ${isolation} cannot keep a part of the workspace read-only: ${protect.join(', ')}`,
      { hint: 'Use the isolation namespace, or protect nothing', data: { protect } },
    )
  }

  function plan(spec: SandboxSpec): LevelPlan {
    const planned = decide(spec)
    const walls = planHostView({ spec, run, level: isolation })
    const notes = [...planned.plan.notes, ...(walls.note === undefined ? [] : [walls.note]), ...level.lacks()]
    return {
      planned: { ...planned, plan: { ...planned.plan, notes } },
      about: (directory) => ({ ...walls.places(directory), tree: walls.tree, mountedIn: walls.tree }),
      open: walls.open,
    }
  }
}

/** They need no program but our own. */
export function findHostViewTools({ run }: BoxOptions, notes: readonly string[]): FoundTools<void> {
  try {
    ensureRunDirectory(run)
    return { usable: true, tools: undefined, notes }
  } catch (error) {
    const { message, hint } = toAwError(error)
    return { usable: false, reasons: [message], hint }
  }
}
