import * as fs from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { AwError } from '../../../../domain/errors.ts'
import { boxProgram } from '../../../sandbox/box/program.ts'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { escapeOption, type OverlayLayers } from '../../../../sys/fs/mounts.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { startProgram, type Started } from '../../../../sys/processes/start-program.ts'

/**
 * Overlays of an ordinary user. Only in a user namespace may they be mounted, and a process with several threads cannot
 * enter one: a small program does, and mounts the overlay nowhere. Whoever opens what it has mounted keeps that, also when
 * the program has ended. So an overlay is there for as long as this process has its descriptor, and nobody else sees it.
 */
export const heldOverlays = counted({
  /** As `mounts.overlay`: EBUSY if somebody has the upper layer mounted, or writes to a lower one. */
  open: openHeld,
})

const timeoutMs = 10_000

async function openHeld({ lower, upper }: OverlayLayers): Promise<number> {
  const written = upper === undefined ? ['-', '-'] : [upper.fs, upper.work].map(escapeOption)
  const words = [boxProgram(), 'hold', ...written, ...lower]
  const child = startProgram(words, ['pipe', 'pipe', 'ignore'])
  const late = setTimeout(() => child.signal('SIGKILL'), timeoutMs)
  try {
    const told = await firstLine(child)
    const number = /^ready (\d+)$/.exec(told)?.[1]
    if (number === undefined) throw refused(told)
    // One that has ended may have left its number to another.
    if (child.hasEnded()) throw refused('')
    return fs.openSync(`/proc/${child.pid}/fd/${number}/.`, directoryFlags)
  } finally {
    child.endInput()
    child.output.destroy()
    await child.ended()
    clearTimeout(late)
  }
}

function firstLine({ output }: Started): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    output.once('error', reject)
    output.setEncoding('utf8')
    output.on('data', (chunk: string) => {
      text += chunk
      if (text.includes('\n')) resolve(text.trim())
    })
    output.once('end', () => resolve(text.trim()))
  })
}

/** `error <errno> <what failed>`, or nothing if it died. */
function refused(told: string): Error {
  const [, errno = '', what = 'the program that mounts it has ended'] = /^error (\d+) (.*)$/.exec(told) ?? []
  const code = errno === '' ? '' : getSystemErrorName(-Number(errno))
  if (/^(?:making|mapping) /.test(what))
    return new AwError('unsupported', `An overlay cannot be mounted without root here: ${what}`, {
      hint: 'Ask for user namespaces to be allowed (aw doctor tells how), or use the storage driver dir',
      data: { what, code },
    })
  return Object.assign(new Error(`The overlay cannot be mounted: ${what}`), { code })
}
