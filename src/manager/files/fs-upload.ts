import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { quotePath } from '../../domain/paths.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { CommandInput } from '../../ports/sandbox-driver.ts'
import type { Core, Request } from '../core.ts'
import { assertFileSize, largestFile } from './file-size.ts'
import { absoluteIn, withTree } from './with-tree.ts'
import { findWorkspace } from '../kernel/find.ts'
import { assertLease } from '../access/lease-fence.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { assertRoom, assertRoomFor, roomToGrow } from '../space/size-limit.ts'
import { sizeAt } from '../kernel/trees.ts'

/** A file of any size, one piece in memory at a time; whole or not at all, whatever happens meanwhile. No lock is held. */
export const fsUpload = (core: Core, input: Inputs['fs upload'], request: Request): Promise<Outputs['fs upload']> =>
  withTree(core, request, input.id, 'write', async (tree, workspace) => {
    const { path, parents, existing, mode } = input
    const absolute = absoluteIn(workspace, input.absolute)
    const most = largestFile(core, workspace, request)
    assertAccepted(input, input.size ?? 0)
    assertFileSize(path, input.size ?? 0, most)
    const replaced = sizeAt(tree, path, absolute)
    if (input.size !== undefined) await assertRoom(core, workspace, { more: () => (input.size ?? 0) - replaced })
    using file = tree.create(path, { absolute, parents, existing, mode })
    let room = Infinity
    for await (const data of contentOf(request)) {
      const size = file.size + data.length
      assertAccepted(input, size)
      assertFileSize(path, size, most)
      if (input.size === undefined && file.size === 0) room = await roomToGrow(core, workspace)
      assertRoomFor(workspace, size - replaced, room)
      await file.write(data)
      request.onProgress?.({ phase: 'receiving', bytes: size })
    }
    assertComplete(input, file.size)
    // Others have written, too, and are not refused what is there already.
    await assertRoom(core, workspace, { more: () => file.size - sizeAt(tree, path, absolute) })
    await assertLease(core, request, workspace.id, nameOf(workspace))
    await assertSameTree(core, workspace)
    checkpointSignal(request)
    return file.finish()
  })

function assertAccepted(
  { path, size: announced = Infinity, max_bytes: most = Infinity }: Inputs['fs upload'],
  size: number,
) {
  if (size > most)
    throw new AwError('file_too_large', `The content is larger than is accepted: ${quotePath(path)}`, {
      data: { path, max_bytes: most },
    })
  if (size > announced) throw otherSize(announced, `more came`)
}

function assertComplete({ size: announced }: Inputs['fs upload'], size: number): void {
  if (announced !== undefined && size !== announced) throw otherSize(announced, `${size} came`)
}

const otherSize = (announced: number, what: string): AwError =>
  new AwError('invalid_input', `${announced} bytes were announced, and ${what}`, {
    hint: 'Nothing was written. Send all of it again, with its size or without',
    data: { field: 'size', announced },
  })

/** What was put into a tree that has been replaced meanwhile would be lost, or be in a snapshot. */
async function assertSameTree(core: Core, { id, generation }: Workspace): Promise<void> {
  const now = await findWorkspace(core, id)
  assertAllowed(now, 'files_write')
  if (now.generation === generation) return
  throw new AwError('workspace_busy', `The tree of ${nameOf(now)} was replaced while the content came in`, {
    hint: 'Nothing was written. Send it again',
    data: { id },
  })
}

/** The bytes of a call; ends with its signal, whether or not anything comes. */
async function* contentOf({ input, signal }: Request): AsyncGenerator<Uint8Array> {
  if (input === undefined)
    throw new AwError('invalid_input', 'There is no content to write', { data: { field: 'input' } })
  const items = input[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await unlessAborted(items.next(), signal)
      if (next.done === true || next.value.kind === 'end') return
      yield bytesIn(next.value)
    }
  } finally {
    // It may wait for something that never comes: nobody waits for that.
    void items.return?.().catch(() => undefined)
  }
}

function bytesIn(item: CommandInput): Uint8Array {
  if (item.kind === 'data') return item.data
  throw new AwError('invalid_input', `A file is given data, not a ${item.kind}`, { data: { field: 'input' } })
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const stop = (): void => reject(new AwError('aborted', 'The caller cancelled this', { cause: signal?.reason }))
  work.then(resolve, (cause: unknown) => reject(cause instanceof AwError ? cause : brokenOff(cause)))
  signal?.addEventListener('abort', stop)
  if (signal?.aborted === true) stop()
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

const brokenOff = (cause: unknown): AwError =>
  new AwError('aborted', 'The content broke off', { hint: 'Nothing was written. Send it again', cause })
