import type { Inputs } from '../../../api/table.ts'
import { AwError } from '../../../domain/errors.ts'
import { genericMount, mountSetting } from '../../../domain/sandbox/mount.ts'
import { limitNames, type Limits } from '../../../domain/sandbox/spec.ts'
import type { SetupPlan } from '../../../domain/sources/template-setup.ts'
import { limitsOf, networkOf } from '../../sandboxes/plan.ts'
import type { Core } from '../../core.ts'

type SetupRequest = Inputs['template update']

/** Fields that say something about a set-up alone. */
const about = ['setup_input', 'setup_again', 'isolation', 'network', 'allow', 'timeout_ms', ...limitNames] as const

const maxCommands = 50

/** What is to be run, by the caller's wish; what is not said is as in the last version. Null: nothing. */
export async function planSetup(core: Core, request: SetupRequest, last: SetupPlan | null): Promise<SetupPlan | null> {
  const commands = request.setup ?? (request.without_setup === true ? [] : (last?.commands ?? []))
  if (request.setup !== undefined && request.without_setup === true) throw wrong('With a set-up, or without?', 'setup')
  if (commands.length === 0) {
    const field = about.find(
      (name) => Object.hasOwn(request, name) && request[name as keyof SetupRequest] !== undefined,
    )
    if (field !== undefined) throw wrong(`${field} says something about a set-up, and there is none`, field)
    return null
  }
  if (commands.length > maxCommands) throw wrong(`A set-up has at most ${maxCommands} commands`, 'setup')
  if (commands.some((command) => command.length === 0)) throw wrong('A command of the set-up is empty', 'setup')
  const isolation = request.isolation ?? last?.isolation ?? core.config.settings['sandbox.isolation']
  const isSameNetwork = request.network === undefined && request.allow === undefined && isolation === last?.isolation
  return {
    commands,
    inputs: request.setup_input ?? last?.inputs ?? [],
    isolation,
    network: isSameNetwork ? last.network : await networkOf(core, isolation, request),
    limits: { ...last?.limits, ...requestedLimits(request) },
    // What is made knows itself by where it is: it must be there in every workspace.
    mount: genericMount(mountSetting(core.config)),
  }
}

const requestedLimits = ({ timeout_ms: wall_ms, ...wish }: SetupRequest): Limits =>
  limitsOf({ ...wish, ...(wall_ms === undefined ? {} : { wall_ms }) })

const wrong = (message: string, field: string): AwError =>
  new AwError('invalid_input', message, {
    hint: 'Name what is run with --setup COMMAND; see: aw template create --help',
    data: { field },
  })
