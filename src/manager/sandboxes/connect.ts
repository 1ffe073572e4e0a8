import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Connection } from '../../ports/sandbox-driver.ts'
import { boxGone } from './plan.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { checkpointSignal } from '../kernel/operations.ts'

/** A connection to what listens inside. It is no command: nothing of it is in the log. */
export async function* connect(
  core: Core,
  input: Inputs['connect'],
  request: Request,
): AsyncGenerator<Outputs['connect']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'exec')
  const facts = workspace.sandbox
  if (facts === undefined)
    throw new AwError('invalid_state', `${nameOf(workspace)} has no sandbox to connect to`, {
      hint: `Start one: aw start ${nameOf(workspace)}`,
      data: { id: workspace.id },
    })
  await using box = await (await core.sandboxes(facts.isolation)).find(facts.sandbox)
  if (box === undefined) throw boxGone(workspace)
  await using connection = await box.connect(input.port, { signal: request.signal })
  const cut = (): void => void connection[Symbol.asyncDispose]()
  request.signal?.addEventListener('abort', cut, { once: true })
  checkpointSignal(request)
  void send(connection, request)
  try {
    for await (const data of connection.received) yield { data }
  } catch (error) {
    throw toAwError(error)
  } finally {
    request.signal?.removeEventListener('abort', cut)
  }
  checkpointSignal(request)
}

async function send(connection: Connection, { input }: Request): Promise<void> {
  try {
    for await (const item of input ?? []) {
      if (item.kind === 'end') break
      if (item.kind === 'data') await connection.send(item.data)
    }
    await connection.end()
  } catch {
    // It is closed: whoever reads from it sees that.
  }
}
