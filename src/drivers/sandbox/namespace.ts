import { fixes } from '../../domain/sandbox/fixes.ts'
import { boxHome } from '../../domain/sandbox/mount-target.ts'
import type { SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { type Bubblewrap, findBubblewrap } from './box/start/bwrap-program.ts'
import { boxPath, filesPath } from './box/start/paths.ts'
import { assertMountPlaces } from './box/start/mounts.ts'
import { namespaceWalls } from './box/start/namespace.ts'
import { ensureRunDirectory } from './box/record.ts'
import { chooseUser, futureOwner, usesStage } from './box/start/user.ts'
import { boxDriver, type BoxOptions, type FoundTools, type LevelPlan } from './box-driver.ts'
import { machineLimits as thisMachine } from './limit-enforcers.ts'
import { planLimits } from './limits.ts'
import { networkEnv, planNetwork } from './network.ts'

/**
 * A box with namespaces of its own, by bubblewrap: it sees the system read-only, its tree, a home and a /tmp of its own
 * and nothing else of the host; no capabilities, no other processes, and only the network that it was given.
 */
export function namespaceSandbox(options: BoxOptions): SandboxDriver {
  const { run } = options
  const machine = thisMachine()
  return boxDriver(options, { isolation: 'namespace', machine, find, check, plan })

  async function find(): Promise<FoundTools<Bubblewrap>> {
    ensureRunDirectory(run)
    const bwrap = await findBubblewrap(run)
    if (bwrap === undefined) return { usable: false, reasons: ['bubblewrap is not installed'], hint: fixes.bubblewrap }
    const missing = lacking(bwrap)
    if (missing !== undefined) return { usable: false, reasons: [missing], hint: fixes.newerBubblewrap }
    const notes = bwrap.disablesUserns
      ? []
      : [
          'bubblewrap is too old for --disable-userns: only the filter of system calls keeps boxes from making namespaces',
        ]
    return { usable: true, tools: bwrap, program: bwrap.path, notes }
  }

  function check(...[spec, trees]: Parameters<SandboxDriver['check']>): void {
    decide(spec)
    chooseUser(futureOwner(trees), spec.uid, { asItself: true })
  }

  /** All that does not depend on the tree. */
  function decide(spec: Omit<SandboxSpec, 'attachment'>) {
    const planned = planLimits(spec, machine.keepers('namespace'))
    const network = planNetwork(spec, options.proxy)
    assertMountPlaces(spec)
    return { planned, network }
  }

  function plan(spec: SandboxSpec, bwrap: Bubblewrap): LevelPlan {
    const { planned, network } = decide(spec)
    const walls = namespaceWalls({ spec, run, bwrap, network })
    const notes = [...planned.plan.notes, ...walls.notes]
    return {
      planned: { ...planned, plan: { ...planned.plan, notes } },
      about: () => ({
        tree: walls.tree,
        mountedIn: walls.mountedIn,
        inside: spec.mount,
        files: filesPath,
        env: { ...surroundings, ...networkEnv(network) },
      }),
      open: walls.open,
    }
  }
}

/** An ordinary user's tree is bound by a handle; root's by a stage, which needs nothing of bubblewrap. */
const lacking = (bwrap: Bubblewrap): string | undefined =>
  bwrap.bindsHandles || usesStage() ? undefined : `${bwrap.path} does not know --bind-fd`

const surroundings = {
  PATH: boxPath,
  HOME: boxHome,
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/sh',
}
