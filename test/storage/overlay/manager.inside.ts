import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openManager } from '../../../src/aw.ts'
import { endBoxes } from '../../support/end-boxes.ts'
import { managerContract } from '../../contracts/manager.ts'
import { makeTree } from '../../support/tree.ts'

/** Workspaces that have no path on the host keep every promise that others keep. */
managerContract('overlay of an ordinary user', async (set) => {
  const base = mkdtempSync(join(tmpdir(), 'aw-manager-'))
  const home = join(base, 'home')
  let folders = 0
  return {
    manager: await openManager({ home, env: {}, set: { 'storage.driver': 'overlay', ...set } }),
    folder(tree) {
      const folder = join(base, `folder-${++folders}`)
      mkdirSync(folder)
      makeTree(folder, tree)
      return folder
    },
    hasPaths: false,
    remove: () => endBoxes(home),
  }
})
