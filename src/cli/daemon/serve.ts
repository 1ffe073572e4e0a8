import { dirname, join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { commandText } from '../../domain/sources/template-setup.ts'
import type { Daemon } from '../../daemon/main.ts'
import type { DaemonFacts } from '../../domain/daemon.ts'
import type { BuiltinCommand } from '../builtins.ts'
import { paint, wantsColor } from '../output/color.ts'
import { connectOptions } from '../connect.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { loadBundle } from '../lazy-bundle.ts'
import type { Run } from '../run.ts'
import { visible } from '../../domain/text/visible.ts'
import { commandLine } from './command-line.ts'

/** `aw serve`: the daemon of a home, here or detached; and what tells of it and ends it. */
export const serveCommand =
  (run: Run): BuiltinCommand =>
  async (args, globals, io, { fields }) => {
    if (args.length > 0)
      throw new AwError('invalid_input', `aw serve takes no ${JSON.stringify(args[0])}`, { hint: 'See aw help serve' })
    const given = (name: string): string | undefined => fields.get(name)?.at(-1)
    const verbs = ['detach', 'stop', 'status'].filter((name) => given(name) === 'true')
    if (verbs.length > 1)
      throw new AwError('invalid_input', `--${verbs.join(' and --')} do not go together`, { hint: 'See aw help serve' })
    const listen = given('listen')
    if (verbs[0] === 'detach') return startDetached(listen, globals, io)
    if (verbs[0] === 'stop') return stopServing(globals, io)
    if (verbs[0] === 'status') return printStatus(globals, io)
    return serve(run, listen, globals, io)
  }

async function serve(run: Run, listen: string | undefined, globals: Globals, io: Io): Promise<number> {
  const { startDaemon, daemonLog, reportLines } = loadBundle('daemon')
  if (!globals.quiet && io.stderr.isTerminal) await io.stderr.write('looking at this machine and at what was left …\n')
  const form = io.stderr.isTerminal && !globals.json ? 'words' : 'json'
  const log = globals.quiet ? () => undefined : daemonLog({ to: process.stderr, form })
  const daemon = await startDaemon({
    ...connectOptions(globals, io),
    listen,
    signal: io.signal,
    commandLine: commandLine(run),
    log,
  })
  try {
    const found = reportLines(daemon.report)
    const { socket, url = null } = daemon
    if (globals.json) {
      for (const line of found) log({ found: line })
      await io.stdout.write(`${JSON.stringify({ socket, url, pid: process.pid })}\n`)
    } else await io.stdout.write(greeting(daemon, found, globals, io))
    await Promise.race([daemon.asked, aborted(io.signal)])
    log({ ending: true })
  } finally {
    await daemon.end()
  }
  log({ ended: true })
  return 0
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

function greeting(
  { socket, url }: Pick<Daemon, 'socket' | 'url'>,
  found: readonly string[],
  globals: Globals,
  io: Io,
): string {
  const { bold, dim, yellow } = paint(wantsColor(io.stdout.isTerminal, io.env, globals.noColor))
  const lines = [
    bold('aw listens'),
    `  at the socket ${socket} ${dim('(you alone, without a token)')}`,
    ...(url === undefined ? [] : [`  at ${url} ${dim('(with a token)')}`]),
    ...(found.length === 0 ? [] : ['', ...found.map((line) => `${yellow('!')} ${visible(line)}`)]),
    '',
    'Try, in another terminal:',
    ...suggestions(dirname(socket), url, io.env).map((command) => `  ${command}`),
    '',
    ...(url === undefined
      ? [dim('For programs that speak HTTP over TCP, start it with --listen 127.0.0.1:7433.')]
      : []),
    dim('Ctrl-C ends it; what runs in workspaces goes on.'),
  ]
  return `${lines.join('\n')}\n`
}

/** Each works as printed, on any machine, any number of times. A checkout has no command of our name. */
function suggestions(home: string, url: string | undefined, env: Io['env']): string[] {
  const isCheckout = process.argv[1]?.endsWith('main.ts') === true
  const aw = isCheckout ? ['npm', 'run', '-s', 'aw', '--'] : ['aw']
  const at = home === join(env['HOME'] ?? '', '.aw') ? [] : ['--home', home]
  const source = isCheckout ? ['--from', 'docs'] : []
  const token = url === undefined ? [] : [['token', 'create', '--scope', 'admin']]
  return [['create', ...source], ['list'], ['tour'], ...token].map((args) => commandText([...aw, ...at, ...args]))
}

async function startDetached(listen: string | undefined, globals: Globals, io: Io): Promise<number> {
  const place = connectOptions(globals, io)
  const args = [
    ...(place.home === undefined ? [] : ['--home', place.home]),
    ...(place.configFile === undefined ? [] : ['--config-file', place.configFile]),
    ...Object.entries(place.set ?? {}).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    '--json',
    'serve',
    ...(listen === undefined ? [] : ['--listen', listen]),
  ]
  const found = await loadBundle('daemon').detach(place, args, io.signal)
  await io.stdout.write(
    globals.json ? `${JSON.stringify(found)}\n` : `${foundText(found)}\nEnd it with: aw serve --stop\n`,
  )
  return 0
}

async function printStatus(globals: Globals, io: Io): Promise<number> {
  const found = await loadBundle('daemon').findDaemon(connectOptions(globals, io))
  if (globals.json) await io.stdout.write(`${JSON.stringify({ running: found !== undefined, ...found })}\n`)
  else
    await io.stdout.write(
      found === undefined ? 'No daemon serves this home. Start one: aw serve\n' : `${foundText(found)}\n`,
    )
  return found === undefined ? 3 : 0
}

async function stopServing(globals: Globals, io: Io): Promise<number> {
  const wasThere = await loadBundle('daemon').stopDaemon(connectOptions(globals, io), io.signal)
  if (globals.json) await io.stdout.write(`${JSON.stringify({ stopped: wasThere })}\n`)
  else if (!globals.quiet) await io.stdout.write(wasThere ? 'The daemon has ended\n' : 'No daemon serves this home\n')
  return 0
}

const foundText = ({ pid, version, socket, listen, started_at }: DaemonFacts): string =>
  [
    `The daemon listens: process ${pid}, version ${version}, since ${started_at}`,
    `  at the socket ${socket}`,
    ...(listen === null ? [] : [`  at ${listen}`]),
  ].join('\n')
