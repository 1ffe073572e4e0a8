import type { CommandInput } from './sandbox-driver.ts'
import type { Inputs, OperationName, Outputs, StreamName } from '../api/table.ts'

/**
 * The core as the doors see it: one call for each operation of the table. In process it is the manager itself; through
 * a daemon it is a client; both give the same answers and the same errors (`AwError`, by code).
 *
 * Input has been parsed by the door. A call that is cancelled by its signal undoes what it began and rejects with
 * `aborted`, unless its outcome is already in the log.
 */
export interface Manager extends AsyncDisposable {
  call<N extends Exclude<OperationName, StreamName>>(
    name: N,
    input: Inputs[N],
    context?: CallContext,
  ): Promise<Outputs[N]>
  /** Operations whose answer is many items. Ends when the caller stops reading or the signal fires. */
  stream<N extends StreamName>(name: N, input: Inputs[N], context?: CallContext): AsyncIterable<Outputs[N]>
}

export interface CallContext {
  /** Who asks; recorded with every event. Default: the user of the process. */
  readonly actor?: string | undefined
  /** Ties together all events of one request. Default: a new one. */
  readonly correlationId?: string | undefined
  readonly causationId?: string | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * The lease under which a write is asked for. If it is not the one that the workspace has now, or has expired, the
   * write is refused with `lease_lost`: whoever was away for too long does nothing to what the next holder has.
   */
  readonly lease?: string | undefined
  /**
   * The sandbox that the caller is in. Its commands run in there and nowhere else, and what is read-only in there is so for
   * its writes too.
   */
  readonly within?: string | undefined
  /**
   * What an operation takes while it goes on: a command, what it is given (`exec`, `connect`); a file, its bytes
   * (`fs upload`). Bytes that break off must end with an error: an end is the end of the file.
   */
  readonly input?: AsyncIterable<CommandInput> | undefined
  /** Told now and then how far long work has come. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface Progress {
  readonly phase: string
  readonly files?: number | undefined
  readonly bytes?: number | undefined
  readonly percent?: number | undefined
  /** What is being run, and what it has just written: anybody's bytes. */
  readonly command?: string | undefined
  readonly output?: Uint8Array | undefined
  /** One of several things that were asked for is there, whatever becomes of the others. */
  readonly made?: { readonly name: string; readonly path: string | null } | undefined
}
