import type { Inputs, Outputs } from '../../api/table.ts'
import { nest } from '../../domain/trees/file-tree.ts'
import type { Core, Request } from '../core.ts'
import { assertFileSize, assertSizesBelow, largestFile } from './file-size.ts'
import { assertRoom } from '../space/size-limit.ts'
import { sizeAt, sizeBelow, type Tree } from '../kernel/trees.ts'
import { absoluteIn, withTree } from './with-tree.ts'

/** Use cases below a workspace's root: each opens the tree, does one thing to it and lets go of it. */

export const fsRead = (core: Core, input: Inputs['fs read'], request: Request): Promise<Uint8Array> =>
  withTree(core, request, input.id, 'read', (tree, workspace) =>
    tree.read(input.path, {
      absolute: absoluteIn(workspace, input.absolute),
      maxBytes: input.max_bytes ?? core.config.settings['files.max_read_mb'] * 1024 * 1024,
      offset: input.offset,
      length: input.length,
    }),
  )

export const fsWrite = (core: Core, input: Inputs['fs write'], request: Request): Promise<Outputs['fs write']> =>
  withTree(core, request, input.id, 'write', async (tree, workspace) => {
    const { parents, existing, mode } = input
    const absolute = absoluteIn(workspace, input.absolute)
    assertFileSize(input.path, lengthOf(input.content), largestFile(core, workspace, request))
    const more = (): number => lengthOf(input.content) - sizeAt(tree, input.path, absolute)
    await assertRoom(core, workspace, { more })
    return tree.write(input.path, input.content, { absolute, parents, existing, mode })
  })

export const fsAppend = (core: Core, input: Inputs['fs append'], request: Request): Promise<Outputs['fs append']> =>
  withTree(core, request, input.id, 'write', async (tree, workspace) => {
    const absolute = absoluteIn(workspace, input.absolute)
    const size = sizeAt(tree, input.path, absolute) + lengthOf(input.content)
    assertFileSize(input.path, size, largestFile(core, workspace, request))
    await assertRoom(core, workspace, { more: () => lengthOf(input.content) })
    return tree.append(input.path, input.content, { absolute })
  })

const lengthOf = (content: Uint8Array | string): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : content.length

export const fsList = (core: Core, input: Inputs['fs list'], request: Request): Promise<Outputs['fs list']> =>
  withTree(core, request, input.id, 'read', (tree, workspace) => {
    const { limit, after } = input
    const absolute = absoluteIn(workspace, input.absolute)
    return tree.list(input.path ?? '', { absolute, limit, after })
  })

export const fsTree = (core: Core, input: Inputs['fs tree'], request: Request): Promise<Outputs['fs tree']> =>
  withTree(core, request, input.id, 'read', (tree, workspace) => {
    const options = {
      absolute: absoluteIn(workspace, input.absolute),
      maxEntries: input.max_entries,
      maxDepth: input.max_depth,
    }
    const { entries, truncated, unreadable } = tree.tree(input.path ?? '', options)
    if (input.nested === true) return { tree: nest(entries), truncated, unreadable }
    const base = tree.resolve(input.path ?? '', { absolute: absoluteIn(workspace, input.absolute) }).path
    const told = entries.map(({ path, kind }) =>
      kind === 'symlink' ? { path, kind, escapes: linkEscapes(tree, `${base}/${path}`) } : { path, kind },
    )
    return { entries: told, truncated, unreadable }
  })

/** As `stat` answers it. Of one that nobody can reach by its name, nobody knows. */
function linkEscapes(tree: Tree, path: string): boolean {
  try {
    return tree.stat(path.replace(/^\//, ''), { follow: false }).escapes ?? false
  } catch {
    return true
  }
}

export const fsStat = (core: Core, input: Inputs['fs stat'], request: Request): Promise<Outputs['fs stat']> =>
  withTree(core, request, input.id, 'read', (tree, workspace) =>
    tree.stat(input.path, { absolute: absoluteIn(workspace, input.absolute), follow: input.follow ?? true }),
  )

export const fsResolve = (core: Core, input: Inputs['fs resolve'], request: Request): Promise<Outputs['fs resolve']> =>
  withTree(core, request, input.id, 'read', (tree, workspace) =>
    tree.resolve(input.path, { absolute: absoluteIn(workspace, input.absolute) }),
  )

export const fsMkdir = (core: Core, input: Inputs['fs mkdir'], request: Request): Promise<Outputs['fs mkdir']> =>
  withTree(core, request, input.id, 'write', (tree, workspace) =>
    tree.mkdir(input.path, { absolute: absoluteIn(workspace, input.absolute), parents: input.parents ?? false }),
  )

export const fsMove = (core: Core, input: Inputs['fs move'], request: Request): Promise<Outputs['fs move']> =>
  withTree(core, request, input.id, 'write', (tree, workspace) => {
    const { replace = false, parents = false } = input
    const absolute = absoluteIn(workspace, input.absolute)
    return tree.rename(input.from, input.to, { absolute, replace, parents })
  })

export const fsCopy = (core: Core, input: Inputs['fs copy'], request: Request): Promise<Outputs['fs copy']> =>
  withTree(core, request, input.id, 'write', async (tree, workspace) => {
    const { replace = false, parents = false, recursive = false } = input
    const absolute = absoluteIn(workspace, input.absolute)
    assertSizesBelow(tree, input.from, largestFile(core, workspace, request), { absolute })
    await assertRoom(core, workspace, { more: () => sizeBelow(tree, input.from, absolute) })
    return tree.copy(input.from, input.to, { absolute, replace, parents, recursive })
  })

export const fsRemove = (core: Core, input: Inputs['fs remove'], request: Request): Promise<Outputs['fs remove']> =>
  withTree(core, request, input.id, 'write', (tree, workspace) => {
    const { recursive = false } = input
    const absolute = absoluteIn(workspace, input.absolute)
    return tree.remove(input.path, { absolute, recursive, missing: input.if_exists === true ? 'ignore' : 'error' })
  })
