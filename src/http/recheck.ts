import { AwError } from '../domain/errors.ts'
import type { Authenticate, Caller } from './authenticate.ts'

export interface RecheckOptions {
  /** It is about many workspaces: it ends, too, when its token loses one of them. */
  readonly isOfMany?: boolean
}

const everyMs = 1000

/** What goes on for long ends when its token does. */
export const recheckToken =
  (authenticate: Authenticate) =>
  ({ secret, principal }: Caller, stop: AbortController, { isOfMany = false }: RecheckOptions = {}): Disposable => {
    if (secret === undefined) return { [Symbol.dispose]: () => undefined }
    const reach = JSON.stringify(principal.workspaces)
    const check = async (): Promise<void> => {
      const now = await authenticate(secret)
      if (now === undefined) stop.abort(new AwError('unauthorized', 'The token is not valid any more'))
      else if (isOfMany && JSON.stringify(now.workspaces) !== reach)
        stop.abort(new AwError('aborted', 'The token is for other workspaces now', { hint: 'Ask again' }))
    }
    const timer = setInterval(() => void check().catch(() => undefined), everyMs)
    timer.unref()
    return { [Symbol.dispose]: () => clearInterval(timer) }
  }
