import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertCommandTexts } from '../../domain/sandbox/command.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Command, Follower, Sandbox } from '../../ports/sandbox-driver.ts'
import { sandboxGone } from './box/connection.ts'
import { encodeTags, numberTag, request, type Tag, uint32 } from './box/frames.ts'
import { failed, runJob, signalNumber } from './box/job.ts'
import { removeBox, waitForExit } from './box/remove.ts'
import type { ConnectedBox } from './box/idle-connections.ts'
import { openStream } from './box/stream.ts'
import { directoryInside } from './box/tree.ts'
import { commandLimits } from './limits.ts'

const answerMs = 30_000
const endMs = 10_000
const nothing = new Uint8Array(0)

/**
 * A box that we are connected to.
 * @param isOurs we have started it
 */
export function openSandbox(
  run: string,
  name: string,
  { record, owners, connection }: ConnectedBox,
  isOurs: boolean,
): Sandbox {
  const ask = async (type: number, payload: Uint8Array, timeoutMs = answerMs) => {
    try {
      return await connection.ask(type, payload, { timeoutMs, failure: refused })
    } catch (error) {
      if (error !== ending) throw error
      await ended(timeoutMs)
      throw sandboxGone()
    }
  }

  return {
    name,
    owner: owners.supervisor,
    plan: record.plan,
    exec(command) {
      try {
        return runJob(connection, jobOf(command))
      } catch (error) {
        return failed(toAwError(error))
      }
    },
    async keep(command) {
      const { directory, logBytes, endsBox, follower } = command
      const job = runJob(connection, { ...jobOf(command), kept: keptTags(directory, logBytes, endsBox, follower) })
      await job.started
      return { exit: job.exit }
    },
    async signalKept(directory, signal) {
      const tags = encodeTags([
        ['K', directory],
        ['s', signal === 0 ? 0 : signalNumber(signal)],
      ])
      const failure = (errno: number, text: string): AwError =>
        errno === constants.errno.ESRCH ? notKept : refused(errno, text)
      try {
        await connection.ask(request.signalKept, tags, { timeoutMs: answerMs, failure })
        return true
      } catch (error) {
        if (error === notKept) return false
        throw error
      }
    },
    async connect(port, { signal } = {}) {
      if (record.isolation !== 'namespace' || record.network === 'host') throw sharedNetwork(port)
      assertPort(port)
      return openStream(connection, port, { timeoutMs: answerMs, signal })
    },
    async put(file, content, mode) {
      const path = pathOf(file)
      const head = encodeTags([
        ['f', path],
        ['o', (mode & 0o777).toString(8)],
      ])
      await ask(request.put, Buffer.concat([head, Buffer.alloc(1), content]))
      return path
    },
    take: async (file) => void (await ask(request.remove, encodeTags([['f', pathOf(file)]]))),
    freeze: async () => void (await ask(request.freeze, nothing)),
    thaw: async () => void (await ask(request.thaw, nothing)),
    async status() {
      const tags = await ask(request.status, nothing)
      return { commands: numberTag(tags, 'j'), processes: numberTag(tags, 'p') }
    },
    async limitSize(maxBytes) {
      if (record.sized === true) await ask(request.sizeLimit, encodeTags([['Q', maxBytes]]))
    },
    async stop({ graceMs = 5_000 } = {}) {
      // One that has ended, or does not answer or end in time, is removed all the same.
      await ask(request.stop, uint32(graceMs), endMs)
        .then(() => ended(graceMs + endMs))
        .catch(() => undefined)
      await connection[Symbol.asyncDispose]()
      await removeBox(run, name)
    },
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      if (!record.once || !isOurs) return
      await waitForExit(owners.supervisor, endMs).catch(() => undefined)
      await removeBox(run, name)
    },
  }

  function pathOf(file: string): string {
    if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$/.test(file)) return `${record.files}/${file}`
    throw new AwError('invalid_name', `A file for a sandbox cannot be called ${JSON.stringify(file)}`)
  }

  /** The connection ends with the supervisor, and it a moment after that. */
  async function ended(withinMs: number): Promise<void> {
    await Promise.race([connection.closed, sleep(withinMs, undefined, { ref: false })])
    await waitForExit(owners.supervisor, endMs)
  }

  function jobOf(command: Command) {
    assertCommand(command)
    const { terminal, input, signal } = command
    return {
      argv: command.argv,
      env: {
        ...record.env,
        ...(terminal === undefined ? {} : { TERM: 'xterm-256color' }),
        ...command.env,
      },
      directory: directoryInside(record, command.cwd),
      ...commandLimits(record, command.limits),
      terminal,
      input,
      signal,
    }
  }
}

const keptTags = (directory: string, logBytes: number, endsBox: boolean, follower?: Follower): Tag[] => [
  ['K', directory],
  ['S', logBytes],
  ...(endsBox ? ([['r', '']] as const) : []),
  ...(follower?.argv ?? []).map((argument) => ['f', argument] as const),
  ...Object.entries(follower?.env ?? {}).map(([name, value]) => ['F', `${name}=${value}`] as const),
]

function assertCommand(command: Command): void {
  assertCommandTexts(command)
  const { terminal } = command
  const isSize = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 65_536
  if (terminal === undefined || (isSize(terminal.columns) && isSize(terminal.rows))) return
  throw new AwError('invalid_input', 'A terminal has from 1 to 65535 columns and rows', { data: { field: 'terminal' } })
}

function assertPort(port: number): void {
  if (Number.isInteger(port) && port > 0 && port < 65_536) return
  throw new AwError('invalid_input', `There is no port ${String(port)}`, { data: { field: 'port' } })
}

const sharedNetwork = (port: number): AwError =>
  new AwError('unsupported', `The sandbox has the network of the host: its port ${port} is the host's own`, {
    hint: `Connect to 127.0.0.1:${port}`,
    data: { port },
  })

const notKept = new AwError('sandbox_gone', 'No such command is kept in the sandbox')

/** Linux's, which Node does not name. */
const ESHUTDOWN = 108
const ending = new AwError('sandbox_gone', 'The sandbox is ending')

const refused = (errno: number, text: string): AwError =>
  errno === ESHUTDOWN
    ? ending
    : new AwError('aw_command_failed', `The sandbox could not do it: ${text}`, { data: { errno } })
