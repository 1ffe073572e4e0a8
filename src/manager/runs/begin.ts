import { AwError, toAwError } from '../../domain/errors.ts'
import type { RunId, WorkspaceId } from '../../domain/ids.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import { assertAccess, assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type BoxFacts, type Workspace } from '../../domain/workspace/state.ts'
import type { CommandInput, Sandbox } from '../../ports/sandbox-driver.ts'
import { boxGone, planSandbox, type SandboxRequest } from '../sandboxes/plan.ts'
import { newEvent, newId, uncancellable, type Core, type Request } from '../core.ts'
import { snapshotBefore } from '../sandboxes/snapshot-each.ts'
import { commandOf } from '../sandboxes/command.ts'
import { launch } from '../sandboxes/start.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { detachRun, endRun } from './settle.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { assertSameWalls } from '../sandboxes/same-walls.ts'
import { assertRoom } from '../space/size-limit.ts'
import { endedBySize, stoppedBySize } from '../space/size-watch.ts'
import { withSlot } from '../workspaces/slots.ts'

/** What a run does, once its workspace is there. */
export interface RunCommand {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** What it reads; the whole of it. */
  readonly stdin?: string | undefined
  readonly cwd?: string | undefined
  readonly timeout_ms?: number | undefined
  /** For a command, which finds it in a file. */
  readonly prompt?: string | undefined
  /** The walls that it was made for: an agent does everything without asking only behind some. Others are refused. */
  readonly isolation?: Isolation | undefined
}

/** Whoever disposes of it leaves the run to itself. */
export interface RunHandle extends AsyncDisposable {
  readonly workspace: Workspace
  /** It has taken all that it is to read, or has ended before that. Nobody waits for it with the lock: it may never. */
  readonly fed: Promise<void>
}

/**
 * Brings a run that was requested under way: keeps the workspace as it is, starts a sandbox if none is around it, and
 * starts the command in it. Then it is nobody's any more and goes on by itself. Whatever is in the way ends it as failed.
 */
export async function beginRun(
  core: Core,
  request: Request,
  id: WorkspaceId,
  run: RunId,
  options: SandboxRequest,
  command: RunCommand,
): Promise<RunHandle> {
  return withWorkspace(core, request, id, async (found) => {
    if (found.run?.run !== run) throw isOver(found)
    try {
      const bySize = await endedBySize(core, found)
      const open = await closeLostRuns(core, request, found)
      // The walls that somebody has chosen are not replaced by others without a word.
      if (found.sandbox !== undefined && open.sandbox === undefined)
        throw bySize ? await stoppedBySize(core, found) : boxGone(found)
      assertAllowed(open, 'exec')
      assertAccess(open, 'execute')
      await assertRoom(core, open)
      if (found.run.cancelling === true) throw cancelled()
      assertSameWalls(open, options)
      const known = await withSlot(core, request, open)
      const before = found.run.snapshot === 'off' ? known : await snapshotBefore(core, request, known, run)
      const own = before.sandbox === undefined ? await ownBox(core, before, options) : undefined
      return await startKept(core, request, await recordStart(core, request, before, run, own), run, command, own)
    } catch (error) {
      await failed(core, request, id, run, error)
      throw error
    }
  })
}

const ownBox = async (core: Core, workspace: Workspace, options: SandboxRequest): Promise<BoxFacts> => ({
  sandbox: newId(core, 'box'),
  ...(await planSandbox(core, workspace, options)),
})

/** In the log before there is a sandbox: so one of its own is ended with it, whoever dies in between. */
async function recordStart(
  core: Core,
  request: Request,
  workspace: Workspace,
  run: RunId,
  own: BoxFacts | undefined,
): Promise<Workspace> {
  const facts = own ?? workspace.sandbox
  if (facts === undefined) throw boxGone(workspace)
  const { sandbox, isolation } = facts
  const of = { sandbox, isolation, own_sandbox: own !== undefined, before: workspace.head }
  return append(core, request, workspace, [
    newEvent(core, request, 'run_started', { ...nameFields(workspace), run, ...of }),
  ])
}

async function startKept(
  core: Core,
  request: Request,
  workspace: Workspace,
  run: RunId,
  command: RunCommand,
  own: BoxFacts | undefined,
): Promise<RunHandle> {
  const started = own === undefined ? workspace : await launch(core, request, workspace, own)
  if (started.sandbox === undefined) throw boxGone(workspace)
  const { sandbox, isolation } = started.sandbox
  const box = await (await core.sandboxes(isolation)).find(sandbox)
  if (box === undefined) throw boxGone(workspace)
  try {
    const { fed } = await startInSandbox(
      core,
      request,
      await withSlot(core, request, started),
      run,
      command,
      box,
      own !== undefined,
    )
    return {
      workspace: started,
      fed,
      async [Symbol.asyncDispose]() {
        await box[Symbol.asyncDispose]()
        await detachRun(core, request, started.id, run)
      },
    }
  } catch (error) {
    await box[Symbol.asyncDispose]()
    throw error
  }
}

async function startInSandbox(
  core: Core,
  request: Request,
  workspace: Awaited<ReturnType<typeof withSlot>>,
  run: RunId,
  command: RunCommand,
  box: Sandbox,
  isOwn: boolean,
): Promise<{ fed: Promise<void> }> {
  const { sandbox: facts } = workspace
  if (facts === undefined) throw boxGone(workspace)
  const variables = await core.variables.read(workspace.id)
  const fed = Promise.withResolvers<void>()
  const input = command.stdin === undefined ? undefined : textInput(command.stdin, fed.resolve)
  if (input === undefined) fed.resolve()
  const env =
    command.prompt === undefined
      ? command.env
      : { AW_PROMPT_FILE: await box.put(promptFile, Buffer.from(command.prompt), 0o400), ...command.env }
  const spec = await commandOf(
    core,
    { ...command, env },
    { ...request, correlationId: request.correlationId, input },
    { workspace, variables, box: facts },
    box,
  )
  const { exit } = await box.keep({
    ...spec,
    directory: await core.logs.place(run),
    logBytes: core.config.settings['runs.log_mb'] * 2 ** 20,
    endsBox: isOwn,
    follower: core.follower(workspace.id),
  })
  const over = exit.then(
    () => undefined,
    () => undefined,
  )
  return { fed: Promise.race([fed.promise, over]) }
}

/** A name that no variable has: secrets are files beside it. */
const promptFile = 'aw-prompt'

async function* textInput(text: string, done: () => void): AsyncGenerator<CommandInput> {
  yield { kind: 'data', data: Buffer.from(text) }
  yield { kind: 'end' }
  done()
}

/** Says so in the log, unless somebody else has by now. */
async function failed(core: Core, request: Request, id: WorkspaceId, run: RunId, error: unknown): Promise<void> {
  const { code, message } = toAwError(error)
  const still = uncancellable(request)
  const now = await core.store.get(id)
  if (now?.run?.run !== run || now.operation !== null) return
  await endRun(core, still, now, { exit: null, problem: { code, message } }).catch(() => undefined)
}

const cancelled = (): AwError => new AwError('aborted', 'The run was cancelled before it began')

const isOver = (workspace: Workspace): AwError =>
  new AwError('invalid_state', `The run of ${nameOf(workspace)} was ended before it began`, {
    hint: `See what became of it: aw runs ${nameOf(workspace)}`,
    data: { id: workspace.id },
  })
