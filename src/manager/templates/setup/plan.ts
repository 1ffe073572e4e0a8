import type { Inputs } from '../../../api/table.ts'
import { AwError } from '../../../domain/errors.ts'
import { commonMount, mountWish } from '../../../domain/sandbox/mount.ts'
import { limitNames, type Limits } from '../../../domain/sandbox/spec.ts'
import type { SetupPlan } from '../../../domain/sources/template-setup.ts'
import { limitsOf, networkOf } from '../../sandboxes/plan.ts'
import type { Core } from '../../core.ts'

type Wish = Inputs['template update']

/** Fields that say something about a set-up alone. */
const about = ['setup_input', 'setup_again', 'isolation', 'network', 'allow', 'timeout_ms', ...limitNames] as const

const mostCommands = 50

/** What is to be run, by the caller's wish; what is not said is as in the last version. Null: nothing. */
export async function plannedSetup(core: Core, wish: Wish, last: SetupPlan | null): Promise<SetupPlan | null> {
  const commands = wish.setup ?? (wish.without_setup === true ? [] : (last?.commands ?? []))
  if (wish.setup !== undefined && wish.without_setup === true) throw wrong('With a set-up, or without?', 'setup')
  if (commands.length === 0) {
    const field = about.find((name) => Object.hasOwn(wish, name) && wish[name as keyof Wish] !== undefined)
    if (field !== undefined) throw wrong(`${field} says something about a set-up, and there is none`, field)
    return null
  }
  if (commands.length > mostCommands) throw wrong(`A set-up has at most ${mostCommands} commands`, 'setup')
  if (commands.some((command) => command.length === 0)) throw wrong('A command of the set-up is empty', 'setup')
  const isolation = wish.isolation ?? last?.isolation ?? core.config.settings['sandbox.isolation']
  const isSameNetwork = wish.network === undefined && wish.allow === undefined && isolation === last?.isolation
  return {
    commands,
    inputs: wish.setup_input ?? last?.inputs ?? [],
    isolation,
    network: isSameNetwork ? last.network : await networkOf(core, isolation, wish),
    limits: { ...last?.limits, ...wishedLimits(wish) },
    // What is made knows itself by where it is: it must be there in every workspace.
    mount: commonMount(mountWish(core.config)),
  }
}

const wishedLimits = ({ timeout_ms: wall_ms, ...wish }: Wish): Limits =>
  limitsOf({ ...wish, ...(wall_ms === undefined ? {} : { wall_ms }) })

const wrong = (message: string, field: string): AwError =>
  new AwError('invalid_input', message, {
    hint: 'Name what is run with --setup COMMAND; see: aw template create --help',
    data: { field },
  })
