import { AwError } from '../../domain/errors.ts'
import { commonArguments, copyProgram, records, takeDirectory } from '../copy/helper.ts'
import { startProgram } from '../processes/start-program.ts'
import { isAscii } from './names.ts'
import { treeWorkCancelled } from './run-cancellable.ts'
import type { StatFingerprint } from './stat.ts'

/** Is given each directory of a tree once, in no order: what is in it, and what the kernel told about each. */
export type OnDirectory = (path: string, names: readonly string[], prints: readonly StatFingerprint[]) => void

interface ScanHelperOptions {
  /** Names directly below the top that are left out. */
  readonly exclude?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Is given the print of the top. */
  readonly onTop: (print: StatFingerprint) => void
  /** Paths and names are bytes. */
  readonly onDirectory: OnDirectory
}

/** A tree that was looked at. */
export interface ScannedTree extends AsyncDisposable {
  /** Whether everything in it still is as it was told: all of it is looked at once more. To be asked once. */
  isUnchanged(): Promise<boolean>
}

/**
 * Looks at everything below an open directory with several threads of aw-copy, as `walkTree` does alone; see
 * docs/spec/copy-program.md. Undefined where it cannot be done so, as with a directory that only its owner can open by
 * changing its mode: what was told then does not count.
 */
export async function scanWithHelper(top: number, options: ScanHelperOptions): Promise<ScannedTree | undefined> {
  const program = copyProgram()
  const { exclude = [], signal } = options
  if (program === undefined || !exclude.every(isAscii)) return undefined
  if (signal?.aborted) throw treeWorkCancelled(signal.reason)
  const child = startProgram([program, ...commonArguments(), 'look', ...exclude], ['pipe', 'pipe', 'ignore', top])
  const conversation = converse(child.output, (kind, record) => {
    if (kind !== 'd') return
    takeDirectory(record, (path, { print, names, prints }) => {
      if (path === '') options.onTop(print)
      options.onDirectory(path, names, prints)
    })
  })
  const end = (): void => child.signal('SIGKILL')
  signal?.addEventListener('abort', end, { once: true })
  const close = async (): Promise<void> => {
    signal?.removeEventListener('abort', end)
    end()
    child.endInput()
    child.output.destroy()
    await child.ended()
  }
  const until = async (kinds: string): Promise<string> => {
    const kind = await conversation(kinds)
    if (signal?.aborted) throw treeWorkCancelled(signal.reason)
    if (kind === undefined) throw new AwError('internal', 'aw-copy has ended before it was done')
    return kind
  }
  try {
    if ((await until('xz')) === 'z')
      return {
        async isUnchanged() {
          child.endInput()
          return (await until('yn')) === 'y'
        },
        [Symbol.asyncDispose]: close,
      }
  } catch (error) {
    await close()
    throw error
  }
  await close()
  return undefined
}

/** Takes what a program tells. Answers a function that waits for the next record of some kinds; undefined at the end. */
function converse(
  output: NodeJS.ReadableStream,
  take: (kind: string, record: Buffer) => void,
): (kinds: string) => Promise<string | undefined> {
  let wanted = ''
  let settle: (kind: string | undefined) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  let isOver = false
  const read = records((kind, record) => (wanted.includes(kind) ? settle(kind) : take(kind, record)))
  output.on('data', (bytes: Buffer) => {
    try {
      read(bytes)
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)))
    }
  })
  // What cannot be read is closed.
  output.on('error', () => undefined)
  output.once('close', () => {
    isOver = true
    settle(undefined)
  })
  return (kinds) =>
    new Promise((resolve, reject) => {
      ;[wanted, settle, fail] = [kinds, resolve, reject]
      if (isOver) resolve(undefined)
    })
}
