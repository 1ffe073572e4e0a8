import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import type { Coroutine } from '../../../sys/safe-fs/coroutine.ts'
import { hashSteps } from '../../../sys/trees/content-hash.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import { openSource } from './source.ts'

/** The SHA-256 of an archive's bytes, whatever they mean: what `sha256sum` tells. */
export async function fileDigest(file: string | number, signal?: AbortSignal): Promise<string> {
  using source = openSource(file)
  return await runCancellable(sumSteps(source.fd), signal)
}

/** Whether it is the archive that a log names. Older ones name a file with many zeros by what is between them. */
export async function hasDigest(file: string | number, digest: string, signal?: AbortSignal): Promise<boolean> {
  if (!digest.startsWith('s')) return (await fileDigest(file, signal)) === digest
  using source = openSource(file)
  return (await runCancellable(hashSteps(source.fd), signal)).hash === digest
}

const chunkSize = 1024 ** 2

function* sumSteps(fd: number): Coroutine<string> {
  const buffer = Buffer.allocUnsafeSlow(chunkSize)
  const sum = createHash('sha256')
  for (let position = 0; ;) {
    const got = fs.readSync(fd, buffer, 0, chunkSize, position)
    if (got === 0) return sum.digest('hex')
    sum.update(buffer.subarray(0, got))
    position += got
    yield
  }
}
