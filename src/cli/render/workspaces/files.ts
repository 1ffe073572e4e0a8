import type { Outputs } from '../../../api/table.ts'
import { columns, pairsOf, type Row } from '../columns.ts'
import { bytes } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type File = Outputs['fs stat']

export function listing({ entries, next }: Outputs['fs list'], view: View): Rendered {
  if (view.quiet) return { out: entries.map((entry) => entry.path).join('\n') }
  const rows = entries.map((entry): Row => [
    { text: modeText(entry), paint: view.paint.dim },
    { text: view.terminal ? bytes(entry.size) : String(entry.size), right: true },
    { text: view.terminal ? entry.mtime.slice(0, 16).replace('T', ' ') : entry.mtime, paint: view.paint.dim },
    { text: nameText(entry, view.input['path']), paint: painter(entry, view) },
  ])
  const more = next === null ? {} : { note: `There is more: go on with --after ${next}` }
  return { out: columns([], rows, view), ...more }
}

export function stat(file: File, view: View): Rendered {
  const entries: [string, string][] = [
    ['path', file.path],
    ['kind', file.kind],
    ['size', view.terminal ? `${bytes(file.size)} (${file.size})` : String(file.size)],
    ['mode', file.mode.toString(8).padStart(4, '0')],
    ['changed', file.mtime],
    ['owner', `${file.uid}:${file.gid}`],
    ['links', String(file.links)],
  ]
  if (file.target !== undefined) entries.push(['target', file.target])
  if (file.escapes === true) entries.push(['escapes', 'yes: it leads out of the workspace and is not followed'])
  return { out: pairsOf(entries, view) }
}

export const resolved = ({ path, exists, rebased }: Outputs['fs resolve']): Rendered => {
  const notes = [exists ? '' : 'Nothing is there yet', rebased ? 'The absolute path was taken as relative' : '']
  const note = notes.filter((text) => text !== '').join('; ')
  return { out: path, ...(note === '' ? {} : { note }) }
}

/** Programs read the exit code; a person sees what is there now. */
export const changed = (file: File, { quiet }: View): Rendered => ({
  out: '',
  ...(quiet ? {} : { note: `${file.path}  ${file.kind === 'directory' ? 'directory' : bytes(file.size)}` }),
})

export const removed = (output: Outputs['fs remove'], { quiet }: View): Rendered => ({
  out: '',
  ...(quiet ? {} : { note: output.removed ? 'Removed' : 'Nothing was there' }),
})

const letters: Readonly<Record<string, string>> = {
  file: '-',
  directory: 'd',
  symlink: 'l',
  fifo: 'p',
  socket: 's',
  block: 'b',
  char: 'c',
}

function modeText({ kind, mode }: File): string {
  const bits = 'rwxrwxrwx'.split('').map((letter, i) => ((mode >> (8 - i)) & 1 ? letter : '-'))
  return (letters[kind] ?? '?') + bits.join('')
}

/** Below the directory that was asked for, the name alone is enough. */
function nameText({ path, kind, target, escapes }: File, directory: unknown): string {
  const above = typeof directory === 'string' ? `${directory.replace(/^\.?\/+|\/+$/g, '')}/` : ''
  const name = above !== '/' && path.startsWith(above) ? path.slice(above.length) : path
  if (kind === 'directory') return `${name}/`
  if (target === undefined) return name
  return `${name} -> ${target}${escapes === true ? ' (leads out of the workspace)' : ''}`
}

function painter({ kind, escapes }: File, { paint }: View): (text: string) => string {
  if (kind === 'directory') return paint.blue
  if (kind === 'symlink') return escapes === true ? paint.red : paint.cyan
  return (text) => text
}
