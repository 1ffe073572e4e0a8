import type { Progress } from '../ports/manager.ts'
import { lastLine } from './output.ts'
import { limits } from './limits.ts'

export interface Teller {
  readonly onProgress: (progress: Progress) => void
  readonly onOutput: (data: Uint8Array) => void
}

/** Tells how far a call has come, not more often than anybody reads. Each is numbered, as the protocol wants them to grow. */
export function progressTeller(send: (progress: { progress: number; message: string }) => void): Teller {
  let count = 0
  let last = -Infinity
  const tell = (messageOf: () => string): void => {
    const now = performance.now()
    if (now - last < limits.progressMs) return
    const message = messageOf()
    if (message === '') return
    last = now
    send({ progress: ++count, message })
  }
  return {
    onProgress: (progress) => tell(() => progressText(progress)),
    onOutput: (data) => tell(() => lastLine(data)),
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
