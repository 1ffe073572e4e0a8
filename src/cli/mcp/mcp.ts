import { Writable } from 'node:stream'
import { AwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { version } from '../../version.ts'
import type { BuiltinCommand } from '../builtins.ts'
import { connectOptions } from '../connect.ts'
import type { Globals } from '../input/globals.ts'
import { ClosedOutput, type Io } from '../io.ts'
import { visible } from '../../domain/text/visible.ts'
import { loadBundle } from '../lazy-bundle.ts'

/** `aw mcp`, and what writes it into the configuration of its clients. */
export const mcpCommand: BuiltinCommand = async (args, globals, io, { fields }) => {
  const [verb, tool, ...rest] = args
  const workspace = fields.get('workspace')?.at(-1)
  if (verb === undefined && [...fields.keys()].every((name) => name === 'workspace'))
    return serve(workspace, globals, io)
  if ((verb === 'install' || verb === 'uninstall') && tool !== undefined && rest.length === 0) {
    const { changeConfiguration } = await import('./install.ts')
    return changeConfiguration(verb, tool, fields, globals, io)
  }
  throw new AwError('invalid_input', `This is not a command: ${['aw mcp', ...args].join(' ')}`, {
    hint: 'Write aw mcp install claude, aw mcp install codex, or uninstall; aw mcp itself takes --workspace alone',
  })
}

/** Standard output carries the protocol alone; it ends when standard input does. */
async function serve(workspace: string | undefined, globals: Globals, io: Io): Promise<number> {
  if (io.stdinIsTerminal)
    throw new AwError('invalid_input', 'aw mcp is run by an agent, which speaks to it on standard input', {
      hint: 'Set it up with: aw mcp install claude, or codex',
    })
  await using manager = await io.connect({ ...connectOptions(globals, io), longLived: true })
  const own = workspace === undefined ? {} : { workspace: await idOf(manager, workspace, io.signal) }
  await loadBundle('mcp').serveStdio(manager, {
    ...own,
    version: version(),
    signal: io.signal,
    input: io.input(),
    output: writable(io),
    onError: (message) => void io.stderr.write(`aw: ${visible(message)}\n`).catch(() => undefined),
  })
  return 0
}

/** That very workspace, also after a rename, and no other that gets its name. */
async function idOf(manager: Manager, workspace: string, signal: AbortSignal): Promise<string> {
  const { id } = await manager.call('show', { id: workspace }, { signal })
  return id
}

const writable = ({ stdout }: Io): Writable => {
  const write = async (chunk: Uint8Array, done: (error?: Error) => void): Promise<void> => {
    try {
      await stdout.flow(chunk)
    } catch (error) {
      return done(error instanceof ClosedOutput ? new Error('nobody reads standard output') : (error as Error))
    }
    done()
  }
  return new Writable({ write: (chunk: Uint8Array, _encoding, done) => void write(chunk, done) })
}
