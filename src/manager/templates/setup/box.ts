import { AwError } from '../../../domain/errors.ts'
import { slotCount } from '../../../domain/sandbox/variables.ts'
import type { SetupPlan } from '../../../domain/sources/template-setup.ts'
import type { SandboxSpec } from '../../../ports/sandbox-driver.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { type BoxWalls, wallsOf } from '../../sandboxes/plan.ts'
import type { Core } from '../../core.ts'
import { portBlocks } from '../../workspaces/slots.ts'

interface Around {
  readonly place: Place
  readonly plan: SetupPlan
  readonly profile: string
  readonly slot: number
}

/** The walls around the tree of a template: those of a workspace, without anything that is shared. */
export async function setupSpec(core: Core, { place, plan, ...of }: Around): Promise<SandboxSpec> {
  await core.storage.ready(place)
  const attachment = core.storage.attachment(place)
  // What a killed process leaves ends by itself.
  return { ...wallsOf(core, setupWalls(plan), of), attachment, once: true }
}

/** Its time is that of each command. */
export function setupWalls({ limits: { wall_ms: _, ...limits }, ...walls }: SetupPlan): BoxWalls {
  return { ...walls, limits }
}

const maxAtOnce = 100

/** A number that no workspace has, and no other set-up that runs now: its user id follows from it. */
export async function withSetupSlot<T>(core: Core, work: (slot: number) => Promise<T>): Promise<T> {
  const first = slotCount(portBlocks(core))
  for (let n = 0; n < maxAtOnce; n++) {
    using lock = await core.host.lock(`setup-${n}`, { timeoutMs: 0 })
    if (lock !== undefined) return await work(first + n)
  }
  throw new AwError('limit_reached', `${maxAtOnce} templates are being set up`, { hint: 'Try again later' })
}
