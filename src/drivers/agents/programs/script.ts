import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** How a program begins: what it is, and if it is a script, what runs it and what it hands over to. */
export type ProgramFormat =
  | { readonly kind: 'native' }
  | {
      readonly kind: 'script'
      readonly interpreter: string
      readonly byName: boolean
      readonly next?: string | undefined
    }

/** Enough of a wrapper; longer scripts are programs of their own. */
const maxRead = 4096

export function detectFormat(path: string): ProgramFormat {
  const text = headOf(path).toString('latin1')
  if (!text.startsWith('#!')) return { kind: 'native' }
  const words = (text.slice(2).split('\n', 1)[0] ?? '').trim().split(/\s+/)
  const byName = (words[0] ?? '').endsWith('/env')
  const interpreter =
    (byName ? words.slice(1).find((word) => !word.startsWith('-') && !word.includes('=')) : words[0]) ?? ''
  const next = /\/?(?:ba|da)?sh$/.test(interpreter) ? handedTo(path, text) : undefined
  return { kind: 'script', interpreter, byName, next }
}

/**
 * What a small shell script passes all its arguments on to: `exec "/path/program" "$@"`, as installers write it, also
 * with `$basedir` for the script's own directory.
 */
function handedTo(path: string, text: string): string | undefined {
  if (text.length === maxRead) return undefined
  const found = [...text.matchAll(/^\s*exec\s+(?:\S+\s+)?"?((?:\$basedir)?\/[^"\s]+)"?\s+"\$@"/gm)].at(-1)?.[1]
  return found?.startsWith('$basedir/') === true ? join(dirname(path), found.slice('$basedir/'.length)) : found
}

function headOf(path: string): Buffer {
  const fd = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(maxRead)
    return buffer.subarray(0, readSync(fd, buffer, 0, maxRead, 0))
  } finally {
    closeSync(fd)
  }
}
