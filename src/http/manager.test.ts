import { managerContract } from '../../test/contracts/manager.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { makeMemoryTree } from '../../test/memory/tree.ts'
import { served } from '../../test/support/http-manager.ts'
import type { Tree } from '../../test/support/tree.ts'

/** The daemon's answers are those of the core itself: the same suite, through both kinds of socket. */
for (const over of ['socket', 'tcp'] as const) {
  managerContract(`over HTTP, ${over}`, async (set) => {
    const { manager: core, disk } = memoryCore({ set })
    const door = await served(core, { over })
    let folders = 0
    const folder = (tree: Tree): string => {
      const path = `/host/folder-${++folders}`
      makeMemoryTree(disk, path, tree)
      return path
    }
    const remove = async (): Promise<void> => {
      await door[Symbol.asyncDispose]()
      await core[Symbol.asyncDispose]()
    }
    return { manager: door.manager, folder, remove }
  })
}
