import { createRequire } from 'node:module'
import { AwError } from '../../../domain/errors.ts'

/**
 * How the proxy of a box is started: append the path of its settings (see `settingsText`), and give it a pipe as
 * descriptor 0, with whose end it ends, the listening socket as 3 and the log as 4. From a checkout it is the source itself, from the package a file of its own.
 */
export const proxyCommand = (): string[] => [process.execPath, ...smallHeap, programFile()]

/** Far more than it needs; and buffers that were sent are given back early: 91 MB after 1 GiB, 130 without. */
const smallHeap = ['--max-semi-space-size=1', '--max-old-space-size=64']

function programFile(): string {
  const { resolve } = createRequire(import.meta.url)
  for (const place of ['./main.ts', './proxy.cjs', '../proxy.cjs']) {
    try {
      return resolve(place)
    } catch {
      // The next place.
    }
  }
  throw new AwError('internal', 'The program of the proxy is missing', { hint: 'Install aw again' })
}
