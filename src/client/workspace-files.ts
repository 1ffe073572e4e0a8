import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'

type Options<N extends `fs ${string}`> = N extends keyof Inputs
  ? Omit<Inputs[N], 'id' | 'path' | 'from' | 'to' | 'content'>
  : never

/** Files below the workspace's root; see `aw help fs`. Paths are relative to the root. */
export interface WorkspaceFiles {
  read(path: string, options?: Options<'fs read'>, context?: CallContext): Promise<Uint8Array>
  readText(path: string, options?: Options<'fs read'>, context?: CallContext): Promise<string>
  write(
    path: string,
    content: Uint8Array | string,
    options?: Options<'fs write'>,
    context?: CallContext,
  ): Promise<Outputs['fs write']>
  append(
    path: string,
    content: Uint8Array | string,
    options?: Options<'fs append'>,
    context?: CallContext,
  ): Promise<Outputs['fs append']>
  list(path?: string, options?: Options<'fs list'>, context?: CallContext): Promise<Outputs['fs list']>
  tree(path?: string, options?: Options<'fs tree'>, context?: CallContext): Promise<Outputs['fs tree']>
  stat(path: string, options?: Options<'fs stat'>, context?: CallContext): Promise<Outputs['fs stat']>
  resolve(path: string, options?: Options<'fs resolve'>, context?: CallContext): Promise<Outputs['fs resolve']>
  mkdir(path: string, options?: Options<'fs mkdir'>, context?: CallContext): Promise<Outputs['fs mkdir']>
  rename(from: string, to: string, options?: Options<'fs move'>, context?: CallContext): Promise<Outputs['fs move']>
  copy(from: string, to: string, options?: Options<'fs copy'>, context?: CallContext): Promise<Outputs['fs copy']>
  remove(path: string, options?: Options<'fs remove'>, context?: CallContext): Promise<Outputs['fs remove']>
}

export function filesOf(manager: Manager, id: string): WorkspaceFiles {
  const read: WorkspaceFiles['read'] = async (path, options, context) => {
    const content = await manager.call('fs read', { ...options, id, path }, context)
    return typeof content === 'string' ? Buffer.from(content, 'base64') : content
  }
  return {
    read,
    readText: async (path, options, context) => Buffer.from(await read(path, options, context)).toString('utf8'),
    write: (path, content, options, context) => manager.call('fs write', { ...options, id, path, content }, context),
    append: (path, content, options, context) => manager.call('fs append', { ...options, id, path, content }, context),
    list: (path = '', options, context) => manager.call('fs list', { ...options, id, path }, context),
    tree: (path = '', options, context) => manager.call('fs tree', { ...options, id, path }, context),
    stat: (path, options, context) => manager.call('fs stat', { ...options, id, path }, context),
    resolve: (path, options, context) => manager.call('fs resolve', { ...options, id, path }, context),
    mkdir: (path, options, context) => manager.call('fs mkdir', { ...options, id, path }, context),
    rename: (from, to, options, context) => manager.call('fs move', { ...options, id, from, to }, context),
    copy: (from, to, options, context) => manager.call('fs copy', { ...options, id, from, to }, context),
    remove: (path, options, context) => manager.call('fs remove', { ...options, id, path }, context),
  }
}
