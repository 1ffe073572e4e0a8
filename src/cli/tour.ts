import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { paint, wantsColor, type Paint } from './output/color.ts'
import type { Globals } from './input/globals.ts'
import type { Io, Output } from './io.ts'
import { wrap } from './output/layout.ts'
import type { Run } from './run.ts'

interface Step {
  readonly why: string
  readonly args: readonly string[]
  /** What is piped into the command. */
  readonly stdin?: string
}

const name = 'fix-login/claude'
const fork = 'fix-login/codex'
const notes = 'work/notes.md'

const steps: readonly Step[] = [
  {
    why: 'An agent gets a workspace of its own: a real directory. The command prints its path and nothing else.',
    args: ['create', name],
  },
  {
    why: 'Agents work in it with their own tools. You can look in and help from outside, never past its walls.',
    args: ['fs', 'write', name, notes],
    stdin: 'The login fails because the clock is wrong\n',
  },
  { why: 'What is in it now.', args: ['fs', 'tree', name] },
  { why: 'A snapshot keeps all of it, exactly, before something risky.', args: ['snapshot', name, '--label', 'good'] },
  { why: 'The risky thing.', args: ['fs', 'write', name, notes], stdin: 'Never mind, I rewrote it all\n' },
  { why: 'What changed since.', args: ['diff', `${name}@good`, '--text'] },
  { why: 'Back. Even what was undone is kept.', args: ['undo', name] },
  { why: 'Another agent goes on from the same state, in a workspace of its own.', args: ['fork', name, fork] },
  { why: 'All workspaces at a glance.', args: ['list'] },
  { why: 'Somebody destroys it, perhaps too early.', args: ['destroy', name] },
  { why: 'Nothing is lost: destroy only moved it to the trash.', args: ['list', '--trashed'] },
  { why: 'So it comes back, byte for byte.', args: ['undelete', name] },
  { why: 'The same notes as before.', args: ['fs', 'read', name, notes] },
  { why: 'Who did what and when is in one log that only grows.', args: ['events', '--workspace', name] },
  { why: 'Seal it, and keep the hash where no agent can reach it.', args: ['audit', 'seal'] },
  { why: 'Then anyone can check that nobody changed the log.', args: ['audit', 'verify'] },
]

/** `aw tour`: the commands a user would type, run for real in a home that is gone afterwards. */
export const tourCommand = (run: Run) => async (_args: readonly string[], globals: Globals, io: Io) => {
  const look = paint(wantsColor(io.stdout.isTerminal, io.env, globals.noColor))
  const place = await mkdtemp(join(tmpdir(), 'aw-tour-'))
  try {
    await io.stdout.write(`${intro(look)}\n`)
    for (const step of steps) {
      const exitCode = await take(run, step, place, globals, io, look)
      if (exitCode !== 0) return exitCode
    }
    await io.stdout.write(`${ending(look)}\n`)
    return 0
  } finally {
    // Through the front door first, so that whatever holds the tree lets go of it; then the home itself.
    await run(['destroy', fork, name, '--purge', '--if-exists', '--force'], silent(inside(place, io, () => undefined)))
    const { removeHome } = await import('../aw.ts')
    await removeHome(join(place, 'home'))
    await rmdir(place)
  }
}

async function take(run: Run, step: Step, place: string, globals: Globals, io: Io, look: Paint): Promise<number> {
  const piped = step.stdin === undefined ? '' : `echo '${step.stdin.trimEnd()}' | `
  const why = wrap(step.why, Math.min(io.stdout.columns, 100) - 2).map((line) => look.dim(`# ${line}`))
  await io.stdout.write(`\n${why.join('\n')}\n${look.green('$')} ${look.bold(`${piped}aw ${step.args.join(' ')}`)}\n`)
  const heard: string[] = []
  const flags = globals.noColor ? ['--no-color'] : []
  const exitCode = await run(
    [...step.args, ...flags],
    inside(place, io, (text) => void heard.push(text), step.stdin),
  )
  await io.stdout.write(heard.join(''))
  return exitCode
}

/** The same process as seen by a command of the tour: another home, no settings of the user's, output collected. */
function inside(place: string, io: Io, hear: (text: string) => void, stdin = ''): Io {
  const collect = (output: Output): Output => {
    const write: Output['write'] = (chunk) => {
      hear(typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk))
      return Promise.resolve()
    }
    return {
      isTerminal: output.isTerminal,
      get columns() {
        return output.columns
      },
      write,
      flow: write,
    }
  }
  const kept = Object.entries(io.env).filter(([key]) => !key.startsWith('AW_') || key === 'AW_DEBUG')
  return {
    ...io,
    env: { ...Object.fromEntries(kept), AW_HOME: join(place, 'home') },
    cwd: place,
    stdin: () => Promise.resolve(new TextEncoder().encode(stdin)),
    stdinIsTerminal: false,
    stdout: collect(io.stdout),
    stderr: collect(io.stderr),
  }
}

/** Cleaning up goes on after Ctrl-C, too. */
const silent = (io: Io): Io => ({ ...io, signal: new AbortController().signal })

const intro = ({ bold, dim }: Paint): string =>
  `${bold('A short tour of aw')}\n${dim('The commands run for real, in a temporary home that is removed at the end.')}`

const ending = ({ bold, cyan, dim }: Paint): string => {
  const next: readonly (readonly [string, string])[] = [
    ['aw run --repo . --agent claude "…"', 'an agent at work in a workspace of its own'],
    ['aw create my-task --from .', 'a workspace with a copy of this folder'],
    ['cd "$(aw path my-task)"', 'go there'],
    ['aw exec my-task -- ls', 'run a command in it, behind walls'],
    ['aw shell my-task', 'open a shell there'],
    ['aw start my-task', 'walls that stay, until aw stop'],
    ['aw snapshot my-task', 'keep it as it is now'],
    ['aw doctor', 'what this machine can do'],
    ['aw help', 'all commands'],
    ['source <(aw completion bash)', 'completion with the Tab key'],
  ]
  const width = Math.max(...next.map(([command]) => command.length))
  const lines = next.map(([command, about]) => `  ${cyan(command.padEnd(width))}  ${dim(about)}`)
  return `\n${bold('What to try next')}\n${lines.join('\n')}`
}
