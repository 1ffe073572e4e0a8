import type { Progress } from '../ports/manager.ts'
import { lastLine } from './output.ts'
import { limits } from './limits.ts'

/** To be disposed of with the call: nothing is told of one that is over. */
export interface ProgressReporter extends Disposable {
  readonly onProgress: (progress: Progress) => void
  readonly onOutput: (data: Uint8Array) => void
}

/**
 * Tells how far a call has come, not more often than anybody reads; what came last is told, also if nothing follows. Each
 * is numbered, as the protocol wants them to grow.
 */
export function progressReporter(send: (progress: { progress: number; message: string }) => void): ProgressReporter {
  let count = 0
  let last = -Infinity
  let latest = ''
  let later: NodeJS.Timeout | undefined
  const say = (): void => {
    later = undefined
    last = performance.now()
    send({ progress: ++count, message: latest })
  }
  const tell = (message: string): void => {
    if (message === '') return
    latest = message
    if (later !== undefined) return
    const wait = last + limits.progressMs - performance.now()
    if (wait > 0) later = setTimeout(say, wait).unref()
    else say()
  }
  return {
    onProgress: (progress) => tell(progressText(progress)),
    onOutput: (data) => tell(lastLine(data)),
    [Symbol.dispose]: () => clearTimeout(later),
  }
}

function progressText({ phase, files, bytes, percent, output, made }: Progress): string {
  const said = output === undefined ? '' : lastLine(output)
  const parts = [
    phase,
    percent === undefined ? '' : `${Math.floor(percent)} %`,
    files === undefined ? '' : `${files} files`,
    bytes === undefined ? '' : `${bytes} bytes`,
    made === undefined ? '' : made.name,
    said,
  ]
  return parts
    .filter((part) => part !== '')
    .join(', ')
    .slice(0, limits.progressCharacters)
}
