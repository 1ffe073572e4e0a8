import { AwError, type ErrorCode } from '../../domain/errors.ts'
import type { BuiltinCommand } from '../builtins.ts'
import { paint, wantsColor } from '../output/color.ts'
import { connectOptions } from '../connect.ts'
import { humanError } from '../errors.ts'

/** Nothing comes of waiting for another connection then. */
const final: readonly ErrorCode[] = ['sandbox_gone', 'invalid_state', 'workspace_not_found', 'unsupported']

/** `aw forward ID [LOCAL:]PORT`, until Ctrl-C. */
export const forwardCommand: BuiltinCommand = async (args, globals, io) => {
  const { id, local, port } = portsOf(args)
  await using manager = await io.connect(connectOptions(globals, io))
  const { workspace_id: name, sandbox } = await manager.call('show', { id }, { signal: io.signal })
  if (sandbox === null)
    throw new AwError('invalid_state', `${name} has no sandbox to connect to`, {
      hint: `Start one: aw start ${name}`,
      data: { id },
    })
  const { forwardPort } = await import('../../client/forward.ts')
  const over = Promise.withResolvers<undefined>()
  io.signal.addEventListener('abort', () => over.resolve(undefined), { once: true })
  const onError = async (failure: AwError): Promise<void> => {
    if (final.includes(failure.code)) over.reject(failure)
    else await io.stderr.write(humanError(failure, io, globals.noColor)).catch(() => undefined)
  }
  await using forward = await forwardPort(
    manager,
    id,
    port,
    { localPort: local, onError: (error) => void onError(error) },
    { signal: io.signal },
  )
  const address = `127.0.0.1:${forward.port}`
  await io.stdout.write(
    globals.json ? `${JSON.stringify({ workspace: name, address, local_port: forward.port, port })}\n` : `${address}\n`,
  )
  if (io.stderr.isTerminal && !globals.quiet) {
    const { dim } = paint(wantsColor(true, io.env, globals.noColor))
    await io.stderr.write(`${dim(`http://${address} leads to port ${port} of ${name} until Ctrl-C`)}\n`)
  }
  if (!io.signal.aborted) await over.promise
  return 130
}

function portsOf(args: readonly string[]): { id: string; local: number; port: number } {
  const [id, ports = '', ...more] = args
  const [, local, port = ''] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(ports) ?? []
  const numbers = { local: Number(local ?? port), port: Number(port) }
  const fits = numbers.port >= 1 && numbers.port <= 65_535 && numbers.local <= 65_535
  if (id !== undefined && port !== '' && fits && more.length === 0) return { id, ...numbers }
  const odd =
    id === undefined || ports === '' ? 'aw forward needs a workspace and a port' : `${more[0] ?? ports} is no port`
  throw new AwError('invalid_input', odd, {
    hint: 'As in: aw forward fix-login 3000, or aw forward fix-login 8080:3000 for another port here',
    data: { command: 'forward' },
  })
}
