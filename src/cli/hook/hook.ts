import { AwError } from '../../domain/errors.ts'
import type { BuiltinCommand } from '../builtins.ts'
import { connectOptions } from '../connect.ts'
import { reportError } from '../errors.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { readPayload } from './payload.ts'

/** `aw hook claude`, and what writes it into the settings of Claude Code. */
export const hookCommand: BuiltinCommand = async (args, globals, io, { fields }) => {
  const [verb, tool, ...rest] = args
  if (verb === 'claude' && tool === undefined && fields.size === 0) return claudeHook(globals, io)
  if ((verb === 'install' || verb === 'uninstall') && tool === 'claude' && rest.length === 0) {
    const { changeSettings } = await import('./install.ts')
    return changeSettings(verb, fields, globals, io)
  }
  throw new AwError('invalid_input', `This is not a command: ${['aw hook', ...args].join(' ')}`, {
    hint: 'Write aw hook install claude, or aw hook uninstall claude; aw hook claude is for Claude Code, without flags',
  })
}

/**
 * Standard output is for the path of a new workspace alone. Every failure ends with 1: to Claude Code that means not made
 * or not removed; 2 would mean something else if it came from a hook for another event.
 */
async function claudeHook(globals: Globals, io: Io): Promise<number> {
  try {
    const payload = await readPayload(io)
    await using manager = await io.connect(connectOptions(globals, io))
    if (payload.event === 'WorktreeCreate') {
      const { createWorktree } = await import('./create.ts')
      await createWorktree(manager, payload, io)
    } else {
      const { removeWorktree } = await import('./remove.ts')
      await removeWorktree(manager, payload.path, io)
    }
    return 0
  } catch (error) {
    await reportError(error, io, { json: false, noColor: true })
    return 1
  }
}
