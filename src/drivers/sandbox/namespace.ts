import { AwError } from '../../domain/errors.ts'
import { fixes } from '../../domain/sandbox/fixes.ts'
import { boxHome } from '../../domain/sandbox/place.ts'
import type { SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { findBubblewrap, noBubblewrap, type Bubblewrap } from './box/start/bwrap-program.ts'
import { boxPath, filesPath } from './box/start/places.ts'
import { namespaceWalls } from './box/start/namespace.ts'
import { ensureRun } from './box/record.ts'
import { usesStage } from './box/start/user.ts'
import { boxDriver, type BoxOptions, type Level, type Prepared } from './boxes.ts'
import { machine as thisMachine } from './keepers.ts'
import { planLimits } from './limits.ts'
import { networkEnv, networkTags, planNetwork } from './network.ts'
import { pathWith } from './path.ts'
import { probeByStarting } from './probe.ts'

/**
 * A box with namespaces of its own, by bubblewrap: it sees the system read-only, its tree, a home and a /tmp of its own
 * and nothing else of the host; no capabilities, no other processes, and only the network that it was given.
 */
export function namespaceSandbox(options: BoxOptions): SandboxDriver {
  const machine = thisMachine()
  const level: Level = { isolation: 'namespace', machine, probe, prepare }
  const driver = boxDriver(options, level)
  return driver

  async function probe() {
    ensureRun(options.run)
    const bwrap = await findBubblewrap(options.run)
    if (bwrap === undefined) {
      return { usable: false, reasons: ['bubblewrap is not installed'], hint: fixes.bubblewrap } as const
    }
    const missing = lacking(bwrap)
    if (missing !== undefined) return { usable: false, reasons: [missing], hint: fixes.newerBubblewrap } as const
    const notes = bwrap.disablesUserns
      ? []
      : [
          'bubblewrap is too old for --disable-userns: only the filter of system calls keeps boxes from making namespaces',
        ]
    return probeByStarting(driver, options.run, bwrap.path, notes)
  }

  async function prepare(spec: SandboxSpec): Promise<Prepared> {
    const planned = planLimits(spec, machine.keepers('namespace'))
    const network = planNetwork(spec, options.proxy)
    ensureRun(options.run)
    const bwrap = await findBubblewrap(options.run)
    if (bwrap === undefined) throw noBubblewrap()
    const missing = lacking(bwrap)
    if (missing !== undefined) throw new AwError('sandbox_unenforceable', missing, { hint: fixes.newerBubblewrap })
    const walls = namespaceWalls({ spec, run: options.run, bwrap })
    const notes = [...planned.plan.notes, ...walls.notes]
    return {
      planned: { ...planned, plan: { ...planned.plan, notes } },
      about: () => ({
        tree: walls.tree,
        mountedIn: walls.mountedIn,
        placeholders: walls.placeholders,
        inside: spec.mount,
        files: filesPath,
        env: { ...surroundings, PATH: pathWith(spec, boxPath), ...networkEnv(network), ...spec.env },
      }),
      makesPlaceholders: walls.makesPlaceholders,
      tags: (directory, held, placeholders) => [
        ...walls.tags(directory, held, placeholders),
        ...networkTags(network, directory, held),
      ],
      [Symbol.dispose]: () => walls[Symbol.dispose](),
    }
  }
}

/** An ordinary user's tree is bound by a handle; root's by a stage, which needs nothing of bubblewrap. */
const lacking = (bwrap: Bubblewrap): string | undefined =>
  bwrap.bindsHandles || usesStage() ? undefined : `${bwrap.path} does not know --bind-fd`

const surroundings = {
  HOME: boxHome,
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/sh',
}
