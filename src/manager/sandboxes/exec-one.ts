import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Exit } from '../../domain/sandbox/spec.ts'
import { assertAccess, assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type BoxFacts, type Workspace } from '../../domain/workspace/state.ts'
import type { Execution, Plan, Sandbox, SandboxDriver } from '../../ports/sandbox-driver.ts'
import type { Variable } from '../../ports/variables.ts'
import { boxGone, driverOf, planSandbox, specOf } from './plan.ts'
import { newBridgeToken, sandboxOfCaller, type BoxInside } from './bridge.ts'
import { cutArguments, endCommand, isOpen, type Ended } from './commands.ts'
import { newEvent, newId, type Core, type Request } from '../core.ts'
import { snapshotAfter, snapshotBefore } from './snapshot-each.ts'
import { commandOf, directoryOf } from './command.ts'
import { findWorkspace } from '../kernel/find.ts'
import { repairMetadata } from '../kernel/metadata.ts'
import { append, checkpointSignal, intentFlushed, nameFields, withWorkspace } from '../kernel/operations.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { assertSameWalls } from './same-walls.ts'
import { assertRoom } from '../space/size-limit.ts'
import { endedBySize, reasonOf, stoppedBySize } from '../space/size-watch.ts'
import { withSlot, type Slotted } from '../workspaces/slots.ts'

type Input = Inputs['exec'] & { readonly id: string }
type Item = Outputs['exec']
/**
 * Runs a command in the sandbox of a workspace, or in one of its own that ends with it. The intent is in the log before
 * anything runs and the end after everything is over, also if the caller stops listening: then the command is ended.
 */
export async function* exec(core: Core, input: Input, request: Request): AsyncGenerator<Item> {
  checkpointSignal(request)
  const { id } = await findWorkspace(core, input.id)
  const begun = await beginCommand(core, input, request, id)
  const { workspace, command } = begun
  const gone = new AbortController()
  const signal = request.signal === undefined ? gone.signal : AbortSignal.any([request.signal, gone.signal])
  let failure: AwError | undefined
  let stopped: AwError | undefined
  let ended: Ended = {
    command,
    exit: null,
    snapshot: null,
    problem: { code: 'aborted', message: 'the caller stopped listening' },
  }
  try {
    const exit = yield* runIn(core, input, request, begun, signal)
    const isOver = exit.over_limit === true
    stopped = isOver ? undefined : cancellation(request, exit)
    ended = { command, exit, snapshot: null, ...(stopped && problemOf(stopped)) }
    const kept = isOver
      ? await stoppedBySize(core, workspace)
      : await snapshotAfter(core, request, id, begun).catch(toAwError)
    if (kept instanceof AwError) ended = { ...ended, ...problemOf(kept) }
    else ended = { ...ended, snapshot: kept }
    failure = kept instanceof AwError ? kept : stopped
  } catch (error) {
    ended = { ...ended, ...problemOf(toAwError(error)) }
    throw toAwError(error)
  } finally {
    gone.abort()
    await endCommand(core, request, id, ended, begun.workspace)
  }
  // The end is in the log before the caller hears of it.
  if (stopped === undefined)
    yield { type: 'exit', workspace: nameOf(workspace), command, ...ended.exit, snapshot: ended.snapshot }
  // It was cancelled, or it has run and what it left could not be kept.
  if (failure !== undefined) throw failure
}

/**
 * Only if the caller's signal is what killed it: one that ended by itself, or ran out of time, has its own end. Whoever
 * cancels for a reason, as a daemon that ends does, has it in the log.
 */
function cancellation({ signal }: Request, { signal: by, timed_out: late }: Exit): AwError | undefined {
  if (signal?.aborted !== true || by !== 'SIGKILL' || late) return undefined
  const reason: unknown = signal.reason
  return new AwError('aborted', reason instanceof AwError ? reason.message : 'The caller cancelled this', {
    cause: reason,
  })
}

const problemOf = ({ code, message }: AwError) => ({ problem: { code, message } })

/** Nothing of a sandbox of its own is left afterwards. */
async function* runIn(
  core: Core,
  input: Input,
  request: Request,
  begun: StartedCommand,
  signal: AbortSignal,
): AsyncGenerator<Item, Exit> {
  const { workspace, command, box: facts } = begun
  await using box = await sandboxFor(core, request, begun)
  try {
    const execution = box.exec({ ...(await commandOf(core, input, request, begun, box)), signal })
    const { grades, notes: ofPlan } = box.plan
    const notes = [...ofPlan, ...(begun.own?.mended ?? [])]
    // It may fail before anybody waits for it.
    execution.exit.catch(() => undefined)
    await begun.noted
    yield { type: 'started', workspace: nameOf(workspace), command, isolation: facts.isolation, grades, notes }
    yield* outputOf(nameOf(workspace), execution)
    return await execution.exit
  } catch (error) {
    throw await reasonOf(core, workspace, facts, error)
  } finally {
    if (begun.own !== undefined) await box.stop({ graceMs: 0 })
  }
}

async function* outputOf(workspace: string, { output }: Execution): AsyncGenerator<Item> {
  for await (const { stream, data } of output) yield { type: stream, workspace, data }
}

interface OwnBox {
  readonly driver: SandboxDriver
  readonly facts: BoxFacts
  readonly plan: Plan
  /** What is told of metadata that was made again. */
  readonly mended: readonly string[]
}

export interface StartedCommand {
  readonly workspace: Slotted
  readonly command: `cmd_${string}`
  readonly box: BoxInside
  /** Of a sandbox of its own. */
  readonly own: OwnBox | undefined
  /** That sandbox, where it has to be started before the lock is given back. */
  readonly starting: Promise<Sandbox> | undefined
  /** The one that was started before. */
  readonly meeting: { readonly found: Promise<Sandbox | undefined> } | undefined
  readonly variables: Readonly<Record<string, Variable>>
  readonly each: boolean
  /** That its intent is on the disk. It is on its way there before anything is started, and there before anybody is told. */
  readonly noted: Promise<void>
}

/** Everything that can be refused is refused here, before the intent. */
async function beginCommand(core: Core, input: Input, request: Request, id: Workspace['id']): Promise<StartedCommand> {
  return withWorkspace(core, request, id, async (found) => {
    assertAllowed(found, 'exec')
    assertAccess(found, 'execute')
    const bySize = await endedBySize(core, found)
    const open = await closeLostRuns(core, request, found)
    // That of a run has ended with it, as it should.
    const isOfRun = found.run?.started?.own_sandbox === true
    if (found.sandbox !== undefined && open.sandbox === undefined && !isOfRun)
      throw bySize ? await stoppedBySize(core, found) : boxGone(found)
    await assertRoom(core, open)
    const { within } = request
    if (within === undefined) assertSameWalls(open, input)
    const around = within === undefined ? open.sandbox : sandboxOfCaller(open, within)
    const planned = around ?? { sandbox: newId(core, 'box'), ...(await planSandbox(core, open, input)) }
    const known = await withSlot(core, request, open)
    const variables = await core.variables.read(id)
    const each = (input.snapshot ?? core.config.settings['sandbox.snapshot']) === 'each-exec'
    const first = around === undefined ? await ownBox(core, known, planned as BoxFacts) : undefined
    const command = newId(core, 'cmd')
    const before = each ? await snapshotBefore(core, request, known, command) : known
    const slotted = { ...before, slot: known.slot }
    const { remounts } = core.storage.capabilities
    const own = first && remounts && before !== known ? await replanned(core, slotted, first) : first
    const data = { ...nameFields(before), ...startedData(core, input, before, { box: planned, command, own }) }
    // It answers while the log waits for the disk.
    const meeting = own === undefined ? await connectToSandbox(core, planned) : undefined
    try {
      const intent = newEvent(core, request, 'command_started', data)
      const after = await append(core, request, before, [intent], { later: true })
      const noted = intentFlushed(core)
      // Nobody takes a snapshot between the plan and the start.
      const starting = own && remounts ? startOwn(core, request, slotted, own) : undefined
      await starting?.catch(() => undefined)
      const common = { command, box: planned, own, starting, meeting, variables, each, noted }
      return { workspace: { ...after, slot: known.slot }, ...common }
    } catch (error) {
      await (await meeting?.found.catch(() => undefined))?.[Symbol.asyncDispose]()
      throw error
    }
  })
}

async function ownBox(core: Core, workspace: Slotted, facts: BoxFacts): Promise<OwnBox> {
  const driver = await driverOf(core, facts.isolation)
  const plan = await driver.plan(await specOf(core, workspace, facts, true))
  return { driver, facts, plan, mended: await repairMetadata(core, workspace) }
}

const replanned = async (core: Core, workspace: Slotted, own: OwnBox): Promise<OwnBox> => ({
  ...own,
  plan: await own.driver.plan(await specOf(core, workspace, own.facts, true)),
})

interface Starting {
  readonly box: BoxInside & Pick<BoxFacts, 'mcp'>
  readonly command: `cmd_${string}`
  readonly own: OwnBox | undefined
}

function startedData(core: Core, input: Input, workspace: Workspace, { box, command, own }: Starting) {
  return {
    command,
    owner: core.host.owner(),
    sandbox: box.sandbox,
    own_sandbox: own !== undefined,
    isolation: box.isolation,
    walls: own === undefined ? null : { grades: own.plan.grades, notes: [...own.plan.notes, ...own.mended] },
    ...cutArguments(input.argv),
    cwd: directoryOf(workspace, box, input.cwd),
    env: Object.keys(input.env ?? {}),
    terminal: input.columns !== undefined,
    ...(own !== undefined && box.mcp === true ? { inside: mountFields(box) } : {}),
  }
}

const mountFields = ({ mount, agent }: BoxInside) => ({ mount, ...(agent === undefined ? {} : { agent }) })

/** Begins to connect to a sandbox; whoever waits for it later is told what came of it. */
async function connectToSandbox(
  core: Core,
  { isolation, sandbox }: BoxInside,
): Promise<NonNullable<StartedCommand['meeting']>> {
  const found = (await core.sandboxes(isolation)).find(sandbox)
  found.catch(() => undefined)
  return { found }
}

async function sandboxFor(core: Core, request: Request, begun: StartedCommand): Promise<Sandbox> {
  const { workspace, own, meeting } = begun
  if (own !== undefined) return ownBoxFor(core, request, begun, own)
  const found = await meeting?.found
  if (found === undefined) throw boxGone(workspace)
  return found
}

/** One that was ended before it began, as by whoever stops or replaces the workspace, goes no further. */
async function ownBoxFor(core: Core, request: Request, begun: StartedCommand, own: OwnBox): Promise<Sandbox> {
  const { workspace, command, starting } = begun
  const isWanted = async (): Promise<boolean> => {
    const now = await core.store.get(workspace.id)
    return now !== undefined && isOpen(now, command)
  }
  const stopped = (): AwError =>
    new AwError('sandbox_gone', `The command was ended before it began: ${nameOf(workspace)} was stopped`, {
      data: { id: workspace.id },
    })
  const started = await (starting ?? startOwn(core, request, workspace, own)).catch(async (error: unknown) => {
    throw (await isWanted()) ? error : stopped()
  })
  if (await isWanted()) return started
  await using _ = started
  await started.stop({ graceMs: 0 })
  throw stopped()
}

async function startOwn(core: Core, request: Request, workspace: Workspace, own: OwnBox): Promise<Sandbox> {
  const { driver, facts, plan } = own
  const bridgeToken = await newBridgeToken(core, request, workspace, facts)
  return driver.start(facts.sandbox, plan, { signal: request.signal, bridgeToken })
}
