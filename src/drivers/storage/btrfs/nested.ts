import { AwError } from '../../../domain/errors.ts'
import { nestedSubvolumes } from './kernel/ioctls.ts'
import { withSubvolume } from './kernel/subvolume.ts'

/** Subvolumes that were made in a tree, which no snapshot of it holds: their paths, as the port has them. */
export const nestedIn = (tree: string): string[] =>
  withSubvolume(tree, nestedSubvolumes)
    .map((way) => way.map((name) => name.toString('latin1')).join('/'))
    .toSorted()

/** What is in them would be lost with the tree that is replaced, or with one of these paths of it. */
export function assertNoNestedSubvolumes(tree: string, paths?: readonly string[]): void {
  const found = nestedIn(tree).find((nested) => paths?.some((path) => pathsOverlap(path, nested)) ?? true)
  if (found === undefined) return
  const path = Buffer.from(found, 'latin1').toString()
  throw new AwError(
    'unsupported',
    `The workspace cannot be restored: ${path} is a btrfs subvolume, which no snapshot holds`,
    {
      hint: `Copy what is in it to a plain directory and remove it: btrfs subvolume delete ${path}`,
      data: { path },
    },
  )
}

const pathsOverlap = (one: string, other: string): boolean =>
  one === '.' || `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
