import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import type { CommandInput } from '../ports/sandbox-driver.ts'
import { piecesOf, sourceOf, type Stdin } from './command-input.ts'

/** The content of a file as it comes: all at once, a stream of Node or the web, or anything that is iterated. */
export type Content = Stdin

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
  /** As it is read, from one open file. Of a part of it with `offset` and `length`. */
  download(path: string, options?: Options<'fs download'>, context?: CallContext): AsyncIterable<Uint8Array>
  /** As it comes, whole or not at all: if the source fails, nothing is written, and its error is thrown. */
  upload(
    path: string,
    content: Content,
    options?: Options<'fs upload'>,
    context?: Omit<CallContext, 'input'>,
  ): Promise<Outputs['fs upload']>
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
    async *download(path, options, context) {
      for await (const { data } of manager.stream('fs download', { ...options, id, path }, context)) {
        const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data
        if (bytes.length > 0) yield bytes
      }
    },
    async upload(path, content, options, context) {
      const source = sendable(content)
      try {
        return await manager.call('fs upload', { ...options, id, path }, { ...context, input: source.items })
      } catch (error) {
        // What made it break off is what the caller has to hear of.
        throw source.failure?.error ?? error
      }
    },
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

interface Sendable {
  readonly items: AsyncIterable<CommandInput>
  /** Why the source could not be read to its end. */
  readonly failure: { readonly error: unknown } | undefined
}

function sendable(content: Content): Sendable {
  let failure: Sendable['failure']
  async function* items(): AsyncGenerator<CommandInput> {
    try {
      for await (const data of piecesOf(sourceOf(content))) yield { kind: 'data', data }
    } catch (error) {
      failure = { error }
      throw error
    }
  }
  return {
    items: { [Symbol.asyncIterator]: items },
    get failure() {
      return failure
    },
  }
}
