import { constants } from 'node:os'
import { AwError } from '../../../domain/errors.ts'
import type { Exit } from '../../../domain/sandbox/spec.ts'
import type { CommandInput, Execution, OutputChunk } from '../../../ports/sandbox-driver.ts'
import { type BoxConnection, sandboxGone } from './connection.ts'
import {
  answer,
  decodeTags,
  encodeTags,
  type Frame,
  int32,
  malformed,
  numberTag,
  readFailure,
  readUint32,
  request,
  type Tag,
  uint32,
} from './frames.ts'
import { incoming } from './output.ts'
import { credits, inputWindow } from './flow-control.ts'

export interface Job {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Absolute, inside. */
  readonly directory: string
  /** As the kernel has them: `nofile`, `fsize`, `data`, `nproc`, `core`. */
  readonly rlimits: Readonly<Record<string, number>>
  readonly wallMs?: number | undefined
  readonly outputBytes?: number | undefined
  readonly terminal?: { readonly columns: number; readonly rows: number } | undefined
  readonly input?: AsyncIterable<CommandInput> | undefined
  readonly signal?: AbortSignal | undefined
  /** What makes it one that is kept. */
  readonly kept?: readonly Tag[] | undefined
}

export interface RunningJob extends Execution {
  readonly started: Promise<void>
}

/** Runs a command in a box that we are connected to. */
export function runJob(box: BoxConnection, job: Job): RunningJob {
  if (job.signal?.aborted) return failed(cancelledBefore(job.signal))
  const { promise: exit, resolve, reject } = Promise.withResolvers<Exit>()
  const { promise: started, resolve: isStarted, reject: neverStarted } = Promise.withResolvers<void>()
  started.catch(() => undefined)
  // Whoever reads only the output is not troubled by an exit that nobody looks at.
  exit.catch(() => undefined)
  const credit = credits((bytes) => void box.send(request.credit, id, uint32(bytes)))
  const output = incoming<OutputChunk>(credit.read)
  const input = inputWindow()
  const kill = (): void => {
    void box.send(request.signal, id, int32(constants.signals.SIGKILL))
    void box.check(endMs)
  }

  const finish = (error?: AwError): void => {
    job.signal?.removeEventListener('abort', kill)
    input.close()
    output.end(error)
    if (error === undefined) return
    reject(error)
    neverStarted(error)
  }
  const onFrame = ({ type, payload }: Frame): void => {
    if (type === answer.stdout || type === answer.stderr) {
      credit.arrived(payload.length)
      output.push({ stream: type === answer.stdout ? 'stdout' : 'stderr', data: payload }, payload.length)
    } else if (type === answer.taken) input.taken(readUint32(payload))
    else if (type === answer.exit) {
      resolve(readExit(payload))
      finish()
    } else if (type === answer.err) finish(notStarted(job.argv, readFailure(payload)))
    else if (type === answer.started) isStarted()
    else throw malformed('an answer that fits no command')
  }

  let id = 0
  try {
    id = box.open(request.exec, encodeTags(jobTags(job, credit.first)), { onFrame, onGone: finish })
  } catch (error) {
    return failed(error instanceof AwError ? error : sandboxGone(error))
  }
  job.signal?.addEventListener('abort', kill, { once: true })
  if (job.input !== undefined) void feed(box, id, job.input, input)
  return { output: output.items, exit, started }
}

/** How long a box may take to say that it is there when a command is to be ended. */
const endMs = 5_000

function jobTags(job: Job, credit: number): Tag[] {
  const each = (tag: string, values: readonly (string | number)[]): Tag[] => values.map((value) => [tag, value])
  return [
    ...each('a', job.argv),
    ...each(
      'e',
      Object.entries(job.env).map(([name, value]) => `${name}=${value}`),
    ),
    ['d', job.directory],
    ...each(
      'l',
      Object.entries(job.rlimits).map(([name, value]) => `${name}=${value}`),
    ),
    ...each('t', job.wallMs === undefined ? [] : [Math.max(1, Math.ceil(job.wallMs))]),
    ...each('m', job.outputBytes === undefined ? [] : [job.outputBytes]),
    ...each('p', job.terminal === undefined ? [] : [`${job.terminal.columns},${job.terminal.rows}`]),
    ...each('i', job.input === undefined ? [] : ['']),
    ['c', credit],
    ...(job.kept ?? []),
  ]
}

/**
 * Passes on what the caller gives, as fast as the command takes it; a failure of the caller's is the end of its input.
 * Signals and sizes still come after that.
 */
async function feed(
  box: BoxConnection,
  id: number,
  given: AsyncIterable<CommandInput>,
  window: ReturnType<typeof inputWindow>,
): Promise<void> {
  const iterator = given[Symbol.asyncIterator]()
  let ended = false
  const end = async (): Promise<void> => {
    if (!ended) await box.send(request.eof, id)
    ended = true
  }
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), window.closed])
      if (next === undefined || next.done === true) break
      if (next.value.kind === 'end') await end()
      else if (next.value.kind !== 'data' || !ended) await pass(box, id, next.value, window)
    }
  } catch {
    // The command sees the end of its input; what the caller's own iteration threw, the caller knows.
  }
  await end()
  // A caller that still has something to give is told that nobody takes it; it may be waiting for a key for ever.
  if (window.isClosed()) void iterator.return?.()?.catch?.(() => undefined)
}

async function pass(
  box: BoxConnection,
  id: number,
  what: CommandInput,
  window: ReturnType<typeof inputWindow>,
): Promise<void> {
  if (what.kind === 'data') {
    for (let done = 0; done < what.data.length;) {
      const part = what.data.subarray(done, done + (await window.room(what.data.length - done)))
      if (part.length === 0) return
      await box.send(request.stdin, id, part)
      done += part.length
    }
  } else if (what.kind === 'signal') await box.send(request.signal, id, int32(signalNumber(what.signal)))
  else if (what.kind === 'resize') {
    const size = Buffer.alloc(4)
    size.writeUInt16LE(what.columns, 0)
    size.writeUInt16LE(what.rows, 2)
    await box.send(request.resize, id, size)
  }
}

const signalNumbers: Readonly<Record<string, number>> = constants.signals

export function signalNumber(name: string): number {
  const number = Object.hasOwn(signalNumbers, name) ? signalNumbers[name] : undefined
  if (number !== undefined) return number
  throw new AwError('invalid_input', `There is no signal ${JSON.stringify(name)}`, { hint: 'As SIGINT or SIGTERM' })
}

const signalNames = new Map(Object.entries(signalNumbers).map(([name, number]) => [number, name]))

export function readExit(payload: Buffer): Exit {
  const tags = decodeTags(payload)
  const signal = tags.has('s') ? numberTag(tags, 's') : undefined
  return {
    code: signal === undefined ? numberTag(tags, 'x') : null,
    signal: signal === undefined ? null : (signalNames.get(signal) ?? `SIG${signal}`),
    duration_ms: Math.round(numberTag(tags, 'w') / 1000),
    peak_memory_bytes: numberTag(tags, 'm') * 1024,
    cpu_ms: Math.round((numberTag(tags, 'u') + numberTag(tags, 'y')) / 1000),
    timed_out: tags.has('T'),
    output_cut: tags.has('O'),
    ...(tags.has('Q') && { over_limit: true as const }),
  }
}

function notStarted(
  [program = '', ...more]: readonly string[],
  { errno, text }: { errno: number; text: string },
): AwError {
  const data = { program, errno }
  const message = `The command ${program.slice(0, 200)} could not be started: ${text}`
  const { ENOENT, ENOTDIR, EACCES, EPERM, ENOEXEC, E2BIG } = constants.errno
  if (errno === ENOENT || errno === ENOTDIR) {
    const isLine = more.length === 0 && /[\s;|&<>]/.test(program)
    return new AwError('file_not_found', message, {
      hint: isLine
        ? "This is one word, and no shell takes part. Name one for a line of shell: sh -c 'LINE'"
        : 'Only the programs of the system and of the workspace can be seen inside',
      data,
    })
  }
  if (errno === EACCES || errno === EPERM || errno === ENOEXEC) {
    return new AwError('permission_denied', message, {
      hint: 'It must be executable, and a program or a script with a #! line',
      data,
    })
  }
  if (errno === E2BIG) return new AwError('invalid_input', 'The arguments and variables are too long', { data })
  return new AwError('aw_command_failed', `${message} (errno ${errno})`, { data })
}

const cancelledBefore = (signal: AbortSignal): AwError =>
  new AwError('aborted', 'The command was cancelled before it began', { cause: signal.reason })

/** One that never began: both ends say why. */
export function failed(reason: AwError): RunningJob {
  const exit = Promise.reject<Exit>(reason)
  exit.catch(() => undefined)
  const output = incoming<OutputChunk>(() => undefined)
  output.end(reason)
  const started = Promise.reject<void>(reason)
  started.catch(() => undefined)
  return { output: output.items, exit, started }
}
