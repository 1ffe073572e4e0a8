import type { Inputs } from '../api/table.ts'
import { AwError, toAwError, type ErrorCode } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import type { Workspace, WorkspaceView } from './workspace.ts'

/** Of many things done at once each has its own result. */
export type ItemResult<T> = { id: string; ok: true; result: T } | { id: string; ok: false; error: AwError }

type Shared = Omit<Inputs['fork'], 'id' | 'to' | 'count'>

/** One fork. Without a name it is called after its source and numbered. */
export interface ForkOne extends Shared {
  /** The name of the new workspace. */
  readonly id?: string | undefined
}

/** Several: by their names, or so many, numbered after `id` or else after the source. */
export type ForkMany = Shared &
  (
    | { readonly to: readonly string[]; readonly count?: never; readonly id?: never }
    | { readonly count: number; readonly id?: string | undefined; readonly to?: never }
  )

/** With one name a handle, with several or a count a result for each. If it is a single one that fails, it rejects. */
export interface Fork {
  (source: string, input: ForkMany, context?: CallContext): Promise<ItemResult<Workspace>[]>
  (source: string, input?: ForkOne, context?: CallContext): Promise<Workspace>
}

export function forkWith(manager: Manager, handle: (view: WorkspaceView) => Workspace): Fork {
  async function fork(source: string, input?: ForkOne | ForkMany, context?: CallContext): Promise<unknown> {
    const { named, many } = namesOf(input ?? {})
    const { forks } = await manager.call('fork', { ...named, id: source }, context)
    const results = forks.map(({ name, workspace, error }): ItemResult<Workspace> => {
      if (workspace !== null) return { id: name, ok: true, result: handle(workspace) }
      return { id: name, ok: false, error: failure(error) }
    })
    const [only] = results
    if (many) return results
    if (only?.ok === true) return only.result
    throw only?.error ?? failure(null)
  }
  return fork as Fork
}

function namesOf(input: ForkOne | ForkMany): { named: Omit<Inputs['fork'], 'id'>; many: boolean } {
  const { id, ...rest } = input as ForkOne & Partial<Inputs['fork']>
  if (id !== undefined && rest.to !== undefined) {
    throw new AwError('invalid_input', 'A fork has one name or several', {
      hint: 'Give id or to, not both',
      data: { field: 'id' },
    })
  }
  const many = rest.to !== undefined || rest.count !== undefined
  return { named: id === undefined ? rest : { ...rest, to: [id] }, many }
}

function failure(error: { code: string; message: string; hint: string | null } | null): AwError {
  if (error === null) return new AwError('internal', 'The fork was not made')
  return new AwError(error.code as ErrorCode, error.message, error.hint === null ? {} : { hint: error.hint })
}

export async function settleItem<T>(id: string, work: Promise<T>): Promise<ItemResult<T>> {
  try {
    return { id, ok: true, result: await work }
  } catch (error) {
    return { id, ok: false, error: toAwError(error) }
  }
}
