import { AwError, errorTable, type ErrorCode } from '../../domain/errors.ts'

/** An error as the daemon tells it. */
export interface Problem {
  readonly code: string
  readonly detail: string
  readonly hint: string | null
  readonly data: Record<string, unknown>
}

export function errorOf({ code, detail, hint, data }: Problem): AwError {
  const known = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal'
  return new AwError(known, detail, { ...(hint !== null && { hint }), data })
}

/** An item, unless it is the error that ended the stream: no item has that field alone. */
export function itemOf(text: string): object {
  const item = JSON.parse(text) as { error?: Problem }
  if (item.error !== undefined && Object.keys(item).length === 1) throw errorOf(item.error)
  return item
}
