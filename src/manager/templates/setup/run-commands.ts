import { AwError, toAwError } from '../../../domain/errors.ts'
import type { CommandId } from '../../../domain/ids.ts'
import { profileOf } from '../../../domain/workspace/profiles.ts'
import type { Exit, Walls } from '../../../domain/sandbox/spec.ts'
import {
  argvOf,
  commandText,
  shortText,
  type SetupCommand,
  type SetupPlan,
} from '../../../domain/sources/template-setup.ts'
import type { Sandbox } from '../../../ports/sandbox-driver.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { driverOf, withoutZero } from '../../sandboxes/plan.ts'
import { newEvent, newId, type Core, type Request } from '../../core.ts'
import { appendHome } from '../../kernel/home-stream.ts'
import { checkpointSignal } from '../../kernel/operations.ts'
import { setupSpec, withSetupSlot } from './box.ts'

interface Work {
  readonly template: string
  readonly place: Place
  readonly profile: string
  readonly plan: SetupPlan
}

export interface SetupRan {
  readonly ran_at: string
  readonly duration_ms: number
  readonly logs: readonly CommandId[]
}

/**
 * Runs the commands of a set-up, one after another, in one sandbox around a tree that nobody else sees. The first that
 * fails ends it: `setup_failed`. Nothing of the sandbox is left afterwards; what the commands wrote is.
 */
export async function runSetup(
  core: Core,
  request: Request,
  { template, place, profile, plan }: Work,
): Promise<SetupRan> {
  const { inputs: _, ...wanted } = plan
  const logs = plan.commands.map(() => newId(core, 'cmd'))
  const started = core.clock.now()
  const of = { template, sandbox: place.name }
  await appendHome(
    core,
    newEvent(core, request, 'template_setup_started', { ...of, ...wanted, owner: core.host.owner(), logs }),
  )
  const exits: Exit[] = []
  let walls: Walls | null = null
  let problem: { code: string; message: string } | null = null
  try {
    await withSetupSlot(core, async (slot) => {
      const driver = await driverOf(core, plan.isolation)
      const planned = await driver.plan(await setupSpec(core, { place, plan, profile, slot }))
      await using box = await driver.start(place.name, planned, { signal: request.signal })
      walls = planned
      try {
        for (const [i, command] of plan.commands.entries()) {
          const log = logs[i] ?? newId(core, 'cmd')
          const exit = await runCommand(core, request, box, { template, plan, profile, command, log })
          exits.push(exit)
          if (exit.code !== 0) throw await failed(core, { template, plan, command, log }, howEnded(exit), exit)
        }
      } finally {
        await box.stop({ graceMs: 0 })
      }
    })
  } catch (error) {
    const { code, message } = toAwError(error)
    problem = { code, message }
    throw error
  } finally {
    await appendHome(core, newEvent(core, request, 'template_setup_ended', { ...of, exits, walls, problem }))
  }
  const ended = core.clock.now()
  return { ran_at: started.toISOString(), duration_ms: ended.getTime() - started.getTime(), logs }
}

interface One {
  readonly template: string
  readonly plan: SetupPlan
  readonly command: SetupCommand
  readonly log: CommandId
}

/** The sandbox's supervisor writes down what it says; the caller is told of it as it comes. */
async function runCommand(
  core: Core,
  request: Request,
  box: Sandbox,
  one: One & { readonly profile: string },
): Promise<Exit> {
  const { template, plan, command, log } = one
  const { settings } = core.config
  const news = { phase: 'setting up', command: shortText(command) }
  request.onProgress?.(news)
  const wanted = {
    wall_ms: plan.limits.wall_ms ?? settings['sandbox.timeout_ms'],
    output_mb: settings['sandbox.output_mb'],
  }
  try {
    const { exit } = await box.keep({
      argv: argvOf(command),
      cwd: profileOf(one.profile).content,
      env: { AW_TEMPLATE: template },
      limits: withoutZero(wanted),
      directory: await core.logs.place(log),
      logBytes: settings['runs.log_mb'] * 2 ** 20,
      endsBox: false,
      signal: request.signal,
    })
    let over = false
    exit.then(
      () => (over = true),
      () => (over = true),
    )
    const follow = { isOver: async () => over }
    for await (const { stream, data } of core.logs.read(log, { follow, signal: request.signal }))
      if (stream !== 'lost') request.onProgress?.({ ...news, output: data })
    return await exit
  } catch (error) {
    checkpointSignal(request)
    const { code, message } = toAwError(error)
    if (code !== 'file_not_found' && code !== 'permission_denied') throw error
    throw await failed(core, one, `could not be started (${message})`, null)
  }
}

function howEnded({ code, signal, timed_out: late }: Exit): string {
  if (late) return 'took longer than it may'
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}

const linesTold = 20
const bytesTold = 16_384

async function failed(core: Core, { template, plan, command, log }: One, how: string, exit: Exit | null) {
  const output = await lastLines(core, log)
  const said = output.findLast((line) => line.trim() !== '')
  const what = `The set-up of ${template} failed: ${shortText(command)} ${how}`
  return new AwError('setup_failed', said === undefined ? what : `${what}: ${said.trim().slice(0, 300)}`, {
    hint: `See all that it wrote: aw template log ${template}${networkHint(plan)}`,
    data: {
      template,
      command: commandText(command),
      code: exit?.code ?? null,
      signal: exit?.signal ?? null,
      timed_out: exit?.timed_out ?? false,
      output,
    },
  })
}

const networkHint = ({ network }: SetupPlan): string =>
  network.mode === 'none' ? '; it had no network: --allow npm and the like give it hosts' : ''

async function lastLines(core: Core, log: CommandId): Promise<string[]> {
  const parts: Uint8Array[] = []
  for await (const { data } of core.logs.read(log, { last: bytesTold })) parts.push(data)
  const text = Buffer.concat(parts).subarray(-bytesTold).toString()
  return text.replace(/\n$/, '').split('\n').slice(-linesTold)
}
