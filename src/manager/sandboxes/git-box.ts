import { AwError, toAwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { Exit } from '../../domain/sandbox/spec.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { BoxFacts } from '../../domain/workspace/state.ts'
import type { CommandInput, Sandbox, SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { driverOf, specOf } from './plan.ts'
import { endCommand, type Ended } from './commands.ts'
import { newEvent, newId, type Core, type Request } from '../core.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { withSlot } from '../workspaces/slots.ts'

/** Git behind walls, in a copy of a workspace. What it says is bytes that whoever worked there may have chosen. */
export interface GitBox {
  /** What it printed; undefined if it failed, or printed too much. */
  ask(args: readonly string[]): Promise<Buffer | undefined>
  /** What it prints, as it comes; `export_failed` if it fails. */
  stream(args: readonly string[], input: string): AsyncIterable<Uint8Array>
}

/**
 * Runs git in a `namespace` sandbox without network around a tree that is thrown away: whatever the configuration, the
 * hooks and the filters of its repository do, they do it in there. The command is in the log as every other is.
 * `sandbox_unenforceable` where there are no such walls: there is no way around them.
 */
export async function withGitBox<T>(
  core: Core,
  request: Request,
  id: WorkspaceId,
  place: Place,
  use: (box: GitBox) => Promise<T>,
): Promise<T> {
  const driver = await driverOf(core, 'namespace')
  const { command, sandbox, plan, cwd } = await begin(core, request, id, place, driver)
  let ended: Ended = { command, exit: null, snapshot: null }
  try {
    await using box = await driver.start(sandbox, plan, { signal: request.signal })
    try {
      const onExit = (exit: Exit): void => void (ended = { ...ended, exit })
      return await use(gitBox(box, cwd, request, onExit))
    } finally {
      await box.stop({ graceMs: 0 })
    }
  } catch (error) {
    const { code, message } = toAwError(error)
    ended = { ...ended, problem: { code, message } }
    throw error
  } finally {
    await endCommand(core, request, id, ended)
  }
}

async function begin(core: Core, request: Request, id: WorkspaceId, place: Place, driver: SandboxDriver) {
  return withWorkspace(core, request, id, async (found) => {
    assertAllowed(found, 'exec')
    const workspace = await withSlot(core, request, await closeLostRuns(core, request, found))
    const facts: BoxFacts = {
      sandbox: newId(core, 'box'),
      isolation: 'namespace',
      network: { mode: 'none' },
      limits: {},
      mount: '/workspace',
      shared: [],
    }
    const plan = await driver.plan(await specAround(core, place, await specOf(core, workspace, facts, true)))
    const command = newId(core, 'cmd')
    const cwd = profileOf(workspace.profile).content
    const data = {
      ...nameFields(workspace),
      command,
      owner: core.host.owner(),
      sandbox: facts.sandbox,
      own_sandbox: true,
      isolation: facts.isolation,
      walls: plan,
      argv: ['git'],
      argv_cut: false,
      cwd,
      env: [],
      terminal: false,
    }
    await append(core, request, workspace, [newEvent(core, request, 'command_started', data)])
    return { command, sandbox: facts.sandbox, plan, cwd }
  })
}

/** The walls are those of the workspace; the tree is another, with nothing in it to protect. */
async function specAround(core: Core, place: Place, spec: SandboxSpec): Promise<SandboxSpec> {
  await core.storage.ready(place)
  // All that git prints is wanted, and we count it.
  const { output_mb: _, wall_ms: __, file_size_mb: ___, ...defaults } = spec.defaults
  return {
    ...spec,
    attachment: core.storage.attachment(place),
    protect: [],
    protectWithin: [],
    binds: [],
    networkLog: undefined,
    size: undefined,
    defaults,
  }
}

/** Nothing of it is needed to be safe outside; inside it spares surprises: of these, what can be turned off is. */
const settings = {
  'safe.directory': '*',
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.pager': 'cat',
  'gc.auto': '0',
  'maintenance.auto': 'false',
}

const env = {
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  ...Object.fromEntries(
    Object.entries(settings).flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
}

const maxAnswer = 4 * 1024 * 1024

function gitBox(box: Sandbox, cwd: string, { signal }: Request, onExit: (exit: Exit) => void): GitBox {
  async function* streamed(wall_ms: number, args: readonly string[], input?: string): AsyncGenerator<Uint8Array, Exit> {
    const limits = { wall_ms }
    const given = input === undefined ? undefined : inputOf(input)
    const { output, exit } = box.exec({ argv: ['git', ...args], cwd, env, limits, input: given, signal })
    // It may fail before anybody waits for it.
    exit.catch(() => undefined)
    for await (const { stream, data } of output) if (stream === 'stdout') yield data
    const end = await exit
    onExit(end)
    return end
  }
  return {
    async ask(args) {
      const chunks: Uint8Array[] = []
      let bytes = 0
      const output = streamed(patience.ask, args)
      for (let step = await output.next(); ; step = await output.next()) {
        if (step.done === true) {
          if (step.value.timed_out) throw unreadable(`did not answer for ${patience.ask / 1000} s`)
          return step.value.code === 0 && bytes <= maxAnswer ? Buffer.concat(chunks) : undefined
        }
        bytes += step.value.length
        if (bytes <= maxAnswer) chunks.push(step.value)
      }
    },
    async *stream(args, input) {
      const { code } = yield* streamed(patience.stream, args, input)
      if (code !== 0) throw unreadable('failed')
    },
  }
}

/** In milliseconds. A pipe in the place of a file would keep git waiting for good; many objects take their time. */
const patience = { ask: 60_000, stream: 3_600_000 }

const unreadable = (what: string): AwError =>
  new AwError('export_failed', `The repository in the workspace cannot be read: git ${what} in the sandbox`, {
    hint: 'See what it says: aw git NAME fsck; without its history: --squash',
  })

async function* inputOf(text: string): AsyncGenerator<CommandInput> {
  yield { kind: 'data', data: Buffer.from(text) }
  yield { kind: 'end' }
}
