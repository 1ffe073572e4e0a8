import { AwError, toAwError } from '../../domain/errors.ts'
import { substitute } from '../../domain/sources/templates.ts'
import type { FileHandle } from '../../ports/files.ts'

/** Larger files are no texts that somebody fills something into. */
const maxBytes = 1024 * 1024

/**
 * The files of a tree, or of some of it, in which a variable occurs. Read once, when a template is made: a workspace only
 * reads these.
 */
export function placeholdersIn(tree: FileHandle, names: readonly string[], among?: readonly string[]): string[] {
  if (names.length === 0) return []
  const marks = Object.fromEntries(names.map((name) => [name, '']))
  if (among?.length === 0) return []
  const { entries } = tree.tree('.', { maxEntries: Number.MAX_SAFE_INTEGER })
  const wanted = among === undefined ? undefined : new Set(among)
  return entries.flatMap(({ path, kind }) => {
    if (kind !== 'file' || wanted?.has(path) === false || path.split('/').includes('.git')) return []
    const text = textAt(tree, path)
    if (text === undefined || isBinary(text) || substitute(text, marks) === text) return []
    assertFillable(tree, path)
    return [path]
  })
}

/** No text has such a byte, and what does has lengths and offsets that filling something in would make wrong. */
const isBinary = (bytes: string): boolean => bytes.includes('\0')

/**
 * Nothing asks for a name that is no text, has control characters or is too deep, or reads what its owner has forbidden
 * to read: nothing is filled in there.
 */
function textAt(tree: FileHandle, path: string): string | undefined {
  try {
    return tree.stat(path).size > maxBytes ? undefined : tree.read(path).toString('latin1')
  } catch (error) {
    if (unread.has(toAwError(error).code)) return undefined
    throw error
  }
}

const unread: ReadonlySet<string> = new Set(['file_not_found', 'invalid_path', 'path_too_long', 'permission_denied'])

/** Told when the template is made, and not when the first workspace is. */
function assertFillable(tree: FileHandle, path: string): void {
  const { links } = tree.stat(path)
  const holder = path.split('/').slice(0, -1).join('/') || '.'
  const isClosed = (tree.stat(holder).mode & 0o200) === 0
  if (links === 1 && !isClosed) return
  const why = isClosed ? 'its directory may not be written to' : 'it has several names (hard links)'
  throw new AwError('invalid_input', `Nothing can be filled in at ${path}: ${why}`, {
    hint: 'Change that in what the template is made from, or leave the variable out',
    data: { field: 'variables', path },
  })
}

/** Fills them in. */
export function fillPlaceholders(
  tree: FileHandle,
  files: readonly string[],
  values: Readonly<Record<string, string>>,
): void {
  for (const path of files) {
    try {
      const content = tree.read(path)
      const after = filled(content, values)
      // The tree is durable as the template is; this is what it differs in.
      if (after !== content) tree.write(path, after, { durable: true })
    } catch (error) {
      // A template of a workspace may hold anything; what is no file any more has nothing to fill in.
      if (!['not_a_file', 'file_not_found'].includes(toAwError(error).code)) throw error
    }
  }
}

/** What a file becomes. Bytes that are no text stay what they are. */
export function filled(content: Buffer, values: Readonly<Record<string, string>>): Buffer {
  const text = content.toString('latin1')
  // Templates of older versions name these too.
  if (isBinary(text)) return content
  const bytes = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  )
  return Buffer.from(substitute(text, bytes), 'latin1')
}
