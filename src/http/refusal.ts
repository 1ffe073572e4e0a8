import { AwError, errorTable, type ErrorCode } from '../domain/errors.ts'

/** An error whose HTTP status says more than its code does: 415, 421, 405. */
export class Refusal extends AwError {
  readonly httpStatus: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    hint?: string,
    headers: Readonly<Record<string, string>> = {},
    data: Readonly<Record<string, unknown>> = {},
  ) {
    super(code, message, hint === undefined ? { data } : { hint, data })
    this.httpStatus = status
    this.headers = headers
  }
}

export const statusOf = (error: AwError): number =>
  error instanceof Refusal ? error.httpStatus : errorTable[error.code].status

/** RFC 9457, with what every other door tells of an error. */
export function problemOf(error: AwError, requestId: string): Record<string, unknown> {
  const { code, message, hint, data } = error.toJSON()
  return {
    type: `urn:aw:error:${code}`,
    title: errorTable[code].about,
    status: statusOf(error),
    detail: message,
    code,
    hint,
    data,
    retryable: error.retryable,
    request_id: requestId,
  }
}
