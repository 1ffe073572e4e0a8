import { quotePath } from '../../../../domain/paths.ts'
import type { Tag } from '../frames.ts'
import type { Handles } from '../handles.ts'
import type { Placeholder } from '../record.ts'
import { anotherTree, type BoxTree, openBoxTree } from '../tree.ts'

/** The tree of a box, held open while the box is made around it. */
export interface OpenedTree extends Disposable, Around {}

interface Around {
  /** Names that are missing in it now and have to be mounted on. */
  readonly placeholders: readonly Placeholder[]
  /** Whether those are made by us, and not by what makes the walls. */
  readonly makesPlaceholders: boolean
  /** Makes what is in the box's own directory, and says what its supervisor is to do. */
  tags(making: Making): Tag[]
}

export interface Making {
  /** The box's own. */
  readonly directory: string
  readonly held: Handles
  /** All that are in the tree, also of other boxes. */
  readonly placeholders: readonly Placeholder[]
  readonly bridgeToken: string | undefined
}

interface PlannedTree {
  readonly path: string
  readonly identity: string
}

/** Opens the tree that was planned for. Another directory at its path is refused. */
export function openPlannedTree({ path, identity }: PlannedTree, around: (tree: BoxTree) => Around): OpenedTree {
  const tree = openBoxTree(path)
  try {
    if (tree.identity !== identity) throw anotherTree(quotePath(path))
    return { ...around(tree), [Symbol.dispose]: () => tree[Symbol.dispose]() }
  } catch (error) {
    tree[Symbol.dispose]()
    throw error
  }
}
