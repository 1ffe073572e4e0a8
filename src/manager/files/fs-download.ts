import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { quotePath } from '../../domain/paths.ts'
import type { FileReader } from '../../ports/files.ts'
import type { Core, Request } from '../core.ts'
import { absoluteIn, openForAccess } from './with-tree.ts'
import { checkpointSignal } from '../kernel/operations.ts'

const pieceBytes = 256 * 1024

/**
 * A file of any size, one piece in memory at a time. All of it is of the file that was there at the beginning, even if
 * that is replaced or its workspace goes. No lock is held.
 */
export async function* fsDownload(
  core: Core,
  input: Inputs['fs download'],
  request: Request,
): AsyncGenerator<Outputs['fs download']> {
  checkpointSignal(request)
  const { tree, workspace } = await openForAccess(core, request, input.id, 'read')
  let file: FileReader | undefined
  const close = (): void => {
    file?.[Symbol.dispose]()
    tree[Symbol.dispose]()
  }
  // Nobody may ever ask for the next piece.
  request.signal?.addEventListener('abort', close)
  try {
    checkpointSignal(request)
    file = tree.open(input.path, { absolute: absoluteIn(workspace, input.absolute) })
    yield* piecesOf(file, input, request)
  } finally {
    request.signal?.removeEventListener('abort', close)
    close()
  }
}

async function* piecesOf(
  file: FileReader,
  { path, offset = 0, length = Infinity }: Inputs['fs download'],
  request: Request,
): AsyncGenerator<Outputs['fs download']> {
  const { size, mtime } = file
  const end = Math.max(offset, Math.min(size, offset + length))
  // An empty part has a piece, too: it tells the size.
  for (let at = offset, isFirst = true; at < end || isFirst; isFirst = false) {
    const data = await file.read(at, Math.min(pieceBytes, end - at))
    checkpointSignal(request)
    if (data.length === 0 && at < end) throw cutShort(path)
    yield { size, offset: at, mtime, data }
    checkpointSignal(request)
    at += data.length
  }
}

const cutShort = (path: string): AwError =>
  new AwError('filesystem_error', `The file became shorter while it was read: ${quotePath(path)}`, {
    hint: 'Somebody writes to it; read it again',
    data: { path },
  })
