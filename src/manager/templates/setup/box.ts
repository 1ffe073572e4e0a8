import { listOf } from '../../../domain/config/kinds.ts'
import { AwError } from '../../../domain/errors.ts'
import { profileOf } from '../../../domain/workspace/profiles.ts'
import { slotCount } from '../../../domain/sandbox/surroundings.ts'
import type { SetupPlan } from '../../../domain/sources/template-setup.ts'
import type { SandboxSpec } from '../../../ports/sandbox-driver.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { defaultsOf, withoutZero } from '../../sandboxes/plan.ts'
import type { Core } from '../../core.ts'
import { portBlocks } from '../../workspaces/slots.ts'

export type SetupWalls = Pick<SetupPlan, 'isolation' | 'network' | 'limits' | 'mount'>

interface Around {
  readonly place: Place
  readonly plan: SetupWalls
  readonly profile: string
  readonly slot: number
}

/** The walls around the tree of a template: those of a workspace, without anything that is shared. */
export async function setupSpec(core: Core, { place, plan, profile, slot }: Around): Promise<SandboxSpec> {
  const { settings } = core.config
  const { metadata, content } = profileOf(profile)
  const { wall_ms: _, ...limits } = plan.limits
  const protect = listOf(settings['sandbox.protect'])
  await core.storage.ready(place)
  return {
    attachment: core.storage.attachment(place),
    mount: plan.mount,
    content,
    ...(plan.isolation === 'namespace'
      ? {
          protect: [metadata],
          protectWithin: protect.map((name) => (content === '.' ? name : `${content}/${name}`)),
        }
      : { protect: [] }),
    binds: [],
    network: plan.network,
    limits: withoutZero(limits),
    defaults: withoutZero({ ...defaultsOf(core), ...limits }),
    cgroupRequired: settings['sandbox.cgroup_required'],
    env: {},
    gitUser: { name: settings['git.user_name'], email: settings['git.user_email'] },
    // Without walls a command is what its caller is.
    uid: plan.isolation === 'none' ? undefined : settings['sandbox.first_uid'] + slot,
    proxyUid: settings['sandbox.first_uid'] - 1 - slot,
    // What a killed process leaves ends by itself.
    once: true,
  }
}

const mostAtOnce = 100

/** A number that no workspace has, and no other set-up that runs now: its user id follows from it. */
export async function withSetupSlot<T>(core: Core, work: (slot: number) => Promise<T>): Promise<T> {
  const first = slotCount(portBlocks(core))
  for (let n = 0; n < mostAtOnce; n++) {
    using lock = await core.host.lock(`setup-${n}`, { timeoutMs: 0 })
    if (lock !== undefined) return await work(first + n)
  }
  throw new AwError('limit_reached', `${mostAtOnce} templates are being set up`, { hint: 'Try again later' })
}
