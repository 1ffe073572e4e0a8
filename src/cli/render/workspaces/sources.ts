import type { Outputs } from '../../../api/table.ts'
import { columns, pairsOf, type Row } from '../columns.ts'
import { omittedSubvolumes } from '../basic.ts'
import { setupRows } from './setup.ts'
import { age, bytes, count, shortBase } from '../units.ts'
import type { Rendered, View } from '../view.ts'
import { sourceOf } from './workspace.ts'

export function copied({ files, bytes: size, skipped }: Outputs['cp'], { quiet }: View): Rendered {
  const left = skipped.slice(0, 5).map(({ path, reason }) => `${path} (${reason})`)
  const more = skipped.length > 5 ? ` and ${skipped.length - 5} more` : ''
  return {
    out: quiet ? '' : `${count(files, 'file')}, ${bytes(size)}`,
    ...(skipped.length > 0 && { warning: `left out: ${left.join(', ')}${more}` }),
    ...(files === 0 && skipped.length === 0 && { note: noFiles }),
  }
}

const noFiles = 'No file is in it. A link is copied as a link; with a slash behind it, what it leads to is'

const sizeOf = (size: number | null | undefined): string => (typeof size === 'number' ? bytes(size) : '-')

export function bases(all: Outputs['bases list'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'No bases. They are made with the first workspace from a source' }
  if (view.quiet) return { out: all.map(({ name }) => name).join('\n') }
  // Unless they were asked for there are none; but what reads a pipe counts columns, and may want whole names.
  const sized = !view.terminal || all.some(({ bytes: size }) => typeof size === 'number')
  const column = (text: string): Row => (sized ? [{ text, right: true }] : [])
  const head: Row = [
    'NAME',
    ...column('SIZE'),
    { text: 'AGE', right: true, spare: 1 },
    { text: 'USED BY', spare: 2 },
    'SOURCE',
  ]
  const rows = all.map(({ name, bytes: size, created_at, used_by, source }): Row => [
    { text: view.terminal ? shortBase(name, all) : name, paint: view.paint.bold },
    ...column(sizeOf(size)),
    { text: age(created_at, view.now), right: true },
    used_by.length === 1 ? (used_by[0] ?? '') : count(used_by.length, 'workspace'),
    { text: sourceOf(source), paint: view.paint.dim },
  ])
  return { out: columns(head, rows, view) }
}

export const baseRemoved = ({ removed }: Outputs['bases remove'], { quiet }: View): Rendered => ({
  out: quiet ? '' : removed,
  note: 'Erased for good; the next workspace from that source makes it again',
})

export function templates(all: Outputs['template list'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'No templates yet. Make one with: aw template create NAME --from DIR' }
  if (view.quiet) return { out: all.map(({ name }) => name).join('\n') }
  const head: Row = [
    'NAME',
    { text: 'VERSION', right: true },
    { text: 'AGE', right: true, spare: 1 },
    { text: 'VARIABLES', spare: 2 },
    'ABOUT',
  ]
  const rows = all.map(({ name, version, created_at, variables, description, source }): Row => [
    { text: name, paint: view.paint.bold },
    { text: String(version), right: true },
    { text: age(created_at, view.now), right: true },
    Object.keys(variables).join(', ') || '-',
    { text: description || sourceOf(source), paint: view.paint.dim },
  ])
  return { out: columns(head, rows, view) }
}

export const template = (one: Outputs['template show'], view: View): Rendered => ({
  out: pairsOf(
    [
      ['name', one.name],
      ['version', one.versions.length > 1 ? `${one.version} of ${one.versions.join(', ')}` : String(one.version)],
      ...(one.description === '' ? [] : [['about', one.description] as const]),
      ['source', sourceOf(one.source)],
      ['profile', one.profile],
      ...Object.entries(one.variables).map(
        ([name, value]) => [`{{${name}}}`, typeof value === 'string' ? value : 'must be given'] as const,
      ),
      ...(one.files.length === 0 ? [] : [['filled in', one.files.join(', ')] as const]),
      ...setupRows(one.setup),
      ['base', one.base],
      ['created', one.created_at],
    ],
    view,
  ),
})

export const templateSaved = (one: Outputs['template create'], view: View): Rendered => {
  const given = Object.entries(one.variables).flatMap(([name, value]) => (value === null ? [` --var ${name}=…`] : []))
  const { left_out: left } = one.source
  return {
    out: view.quiet ? '' : `${one.name}@${one.version}`,
    note: `Use it with: aw create NAME --template ${one.name}${given.join('')}`,
    ...(Array.isArray(left) && { warning: omittedSubvolumes(left) }),
  }
}

export const templateRemoved = ({ removed }: Outputs['template remove'], { quiet }: View): Rendered => ({
  out: quiet ? '' : `${removed.length === 1 ? 'version' : 'versions'} ${removed.join(', ')}`,
  note: 'Removed; workspaces made from it stay as they are',
})

export const sharedCreated = ({ path }: Outputs['shared create']): Rendered => ({ out: path })

export function sharedAreas(all: Outputs['shared list'], view: View): Rendered {
  const isTrash = view.input['trashed'] === true
  const none = isTrash ? 'No shared areas in the trash' : 'No shared areas yet. Make one with: aw shared create NAME'
  if (all.length === 0) return { out: '', note: none }
  if (view.quiet) return { out: all.map(({ name, trash }) => trash ?? name).join('\n') }
  const last = isTrash ? 'TRASH' : 'PATH'
  const head: Row = ['NAME', 'TASK', { text: 'SIZE', right: true }, { text: 'AGE', right: true }, last]
  const rows = all.map(({ name, task, bytes: size, created_at, path, trash }): Row => [
    { text: name, paint: view.paint.bold },
    task ?? '-',
    { text: sizeOf(size), right: true },
    { text: age(created_at, view.now), right: true },
    trash ?? path ?? '-',
  ])
  const note = isTrash ? { note: 'Bring one back with: aw shared undelete TRASH' } : {}
  return { out: columns(head, rows, view), ...note }
}

export const sharedRemoved = ({ trash }: Outputs['shared remove'], { quiet }: View): Rendered => ({
  out: quiet || trash === null ? '' : trash,
  note: trash === null ? 'Erased for good' : `Bring it back with: aw shared undelete ${trash}`,
})
