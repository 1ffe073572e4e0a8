import { memoryCore } from '../memory/core.ts'
import { makeMemoryTree, readMemoryTree } from '../memory/tree.ts'
import type { Twin } from './random-operations.ts'
import type { Tree } from './tree.ts'

/** What the twins copy from. */
export const twinSource: Tree = {
  README: { kind: 'file', content: 'read me', mode: 0o640 },
  d: { kind: 'directory', mode: 0o750 },
  'd/f': { kind: 'file', content: 'deep', mode: 0o644 },
  link: { kind: 'symlink', target: 'd/f' },
}

export function memoryTwin(): Twin {
  const { manager, disk } = memoryCore()
  makeMemoryTree(disk, '/source', twinSource)
  return { manager, source: '/source', read: (path) => readMemoryTree(disk, path, { except: ['.aw'] }) }
}
