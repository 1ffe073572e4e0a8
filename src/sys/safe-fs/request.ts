import { AwError } from '../../domain/errors.ts'
import { type ParsedPath, parsePath } from '../../domain/paths.ts'
import type { PathOptions } from '../../ports/files.ts'
import type { Root } from './root.ts'

/** A caller's path, well formed. `root: false` where the root itself is not an answer. */
export function parseRequest(
  root: Root,
  path: string,
  options: PathOptions | undefined,
  need: { root?: boolean } = {},
): ParsedPath {
  // A descriptor's number is used again after it is closed: a closed handle must not reach it.
  if (root.closed) throw new AwError('internal', 'The handle on the workspace is closed')
  return parsePath(path, { absolute: options?.absolute, roots: root.paths, root: need.root })
}

export function toBytes(content: Uint8Array | string): Uint8Array {
  if (typeof content === 'string') return Buffer.from(content)
  if (content instanceof Uint8Array) return content
  throw new AwError('invalid_input', 'The content of a file is a string or bytes')
}

export function countOf(value: number | undefined, name: string, otherwise: number): number {
  if (value === undefined) return otherwise
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new AwError('invalid_input', `"${name}" is a whole number, 0 or more`)
}
