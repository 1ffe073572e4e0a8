import { AwError, toAwError } from '../../domain/errors.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'
import { openWalls } from './box/start/open-walls.ts'
import { ensureRun } from './box/record.ts'
import type { BoxOptions, Found, LevelPlan } from './boxes.ts'
import { assertBrokers } from './brokers.ts'
import type { Machine } from './keepers.ts'
import { planLimits } from './limits.ts'
import { pathWith } from './path.ts'

/** What `none` and `guarded` have in common: they mount nothing for their commands. */
export function planOpen(
  level: 'none' | 'guarded',
  { run }: BoxOptions,
  machine: Machine,
  spec: SandboxSpec,
): LevelPlan {
  const planned = planLimits(spec, machine.keepers('open'))
  assertBrokers(level, spec)
  const protect = [...spec.protect, ...(spec.protectWithin ?? [])]
  if (protect.length > 0) {
    throw new AwError(
      'sandbox_unenforceable',
      `The level ${level} cannot keep a part of the workspace read-only: ${protect.join(', ')}`,
      { hint: 'Use the isolation namespace, or protect nothing', data: { protect } },
    )
  }
  const walls = openWalls({ spec, run, level })
  const notes = [...planned.plan.notes, ...(walls.note === undefined ? [] : [walls.note])]
  return {
    planned: { ...planned, plan: { ...planned.plan, notes } },
    about(directory) {
      const { env, ...places } = walls.places(directory)
      return {
        ...places,
        tree: walls.tree,
        mountedIn: walls.tree,
        env: { ...env, PATH: pathWith(spec, env['PATH'] ?? ''), ...spec.env },
      }
    },
    open: () => walls.open(),
  }
}

/** They need no program but our own. */
export function findOpen({ run }: BoxOptions, notes: readonly string[]): Found<void> {
  try {
    ensureRun(run)
    return { usable: true, tools: undefined, notes }
  } catch (error) {
    const { message, hint } = toAwError(error)
    return { usable: false, reasons: [message], hint }
  }
}

/** Whether a network that was asked for is none at all: an empty allow-list allows nothing. */
export const isOffline = ({ network }: SandboxSpec): boolean =>
  network.mode === 'none' || (network.mode === 'allowlist' && network.allow.length === 0)
