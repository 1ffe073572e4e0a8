import { toAwError } from '../domain/errors.ts'
import { substitute } from '../domain/templates.ts'
import type { FileHandle } from '../ports/files.ts'

/** Larger files are no texts that somebody fills something into. */
const mostBytes = 1024 * 1024

/** The files of a tree in which a variable occurs. Read once, when a template is made: a workspace only reads these. */
export function placeholdersIn(tree: FileHandle, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const marks = Object.fromEntries(names.map((name) => [name, '']))
  const { entries } = tree.tree('.', { maxEntries: Number.MAX_SAFE_INTEGER })
  return entries.flatMap(({ path, kind }) => {
    if (kind !== 'file' || path.split('/').includes('.git') || tree.stat(path).size > mostBytes) return []
    const text = tree.read(path).toString('latin1')
    return substitute(text, marks) === text ? [] : [path]
  })
}

/** Fills them in. Bytes that are no text stay what they are. */
export function fillPlaceholders(
  tree: FileHandle,
  files: readonly string[],
  values: Readonly<Record<string, string>>,
): void {
  const bytes = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  )
  for (const path of files) {
    try {
      const text = tree.read(path).toString('latin1')
      tree.write(path, Buffer.from(substitute(text, bytes), 'latin1'), { discard: true })
    } catch (error) {
      // A template of a workspace may hold anything; what is no file any more has nothing to fill in.
      if (!['not_a_file', 'file_not_found'].includes(toAwError(error).code)) throw error
    }
  }
}
