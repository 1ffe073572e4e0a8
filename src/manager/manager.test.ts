import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openManager } from '../aw.ts'
import { endBoxes } from '../../test/support/end-boxes.ts'
import { managerContract } from '../../test/contracts/manager.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { makeMemoryTree } from '../../test/memory/tree.ts'
import { makeTree, type Tree } from '../../test/support/tree.ts'

managerContract('in memory', async (set) => {
  const { manager, disk } = memoryCore({ set })
  let folders = 0
  const folder = (tree: Tree): string => {
    const path = `/host/folder-${++folders}`
    makeMemoryTree(disk, path, tree)
    return path
  }
  return { manager, folder, remove: () => undefined }
})

managerContract('on this machine', async (set) => {
  const base = mkdtempSync(join(tmpdir(), 'aw-manager-'))
  const manager = await openManager({ home: join(base, 'home'), env: {}, set }).catch((error: unknown) => {
    rmSync(base, { recursive: true, force: true })
    throw error
  })
  let folders = 0
  const folder = (tree: Tree): string => {
    const path = join(base, `folder-${++folders}`)
    mkdirSync(path)
    makeTree(path, tree)
    return path
  }
  const remove = async (): Promise<void> => {
    await endBoxes(join(base, 'home'))
    rmSync(base, { recursive: true, force: true })
  }
  return { manager, folder, remove }
})
