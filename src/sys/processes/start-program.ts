import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { AwError } from '../../domain/errors.ts'
import { native, type Native } from '../syscalls/native.ts'
import { attempt } from './process.ts'

/** A program of ours that was started. We need not wait for it to end: it does not keep this process alive. */
export interface Started {
  readonly pid: number
  /** What it writes to its descriptor 1. Has to be destroyed when no more is wanted. */
  readonly output: Readable
  /** Closes our end of its descriptor 0, where that is a pipe. */
  endInput(): void
  /** Until it has, its number is no other's. */
  hasEnded(): boolean
  /** Nothing if it has ended. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void
  /** Settles when it has ended. */
  ended(): Promise<void>
}

/** What it is given as its descriptors 0, 1, 2 and so on; nothing else is. */
export type GivenDescriptors = readonly [
  input: number | 'pipe',
  output: 'pipe',
  errors: number | 'ignore',
  ...more: number[],
]

/**
 * Starts a program, of which the first word is the path, in a session of its own, in `/`, with nothing in its environment.
 * Node copies the page tables of the whole process for that (a millisecond and more, 30 where it has half a gigabyte);
 * where our own system calls are at hand, nothing is copied.
 */
export function startProgram(words: readonly string[], given: GivenDescriptors): Started {
  const calls = native()
  return calls === undefined ? startByNode(words, given) : startByCalls(calls, words, given)
}

function startByCalls(calls: Native, words: readonly string[], [input, , errors, ...more]: GivenDescriptors): Started {
  const [theirs, ours]: [number[], number[]] = [[], []]
  try {
    const [from, to] = input === 'pipe' ? calls.pipe() : [input]
    if (to !== undefined) {
      theirs.push(from)
      ours.push(to)
    }
    const [read, write] = calls.pipe()
    theirs.push(write)
    ours.push(read)
    const complaints = errors === 'ignore' ? openSync('/dev/null', 'w') : errors
    if (errors === 'ignore') theirs.push(complaints)
    const pid = calls.start(words, [from, write, complaints, ...more])
    return new Child(calls, pid, new Socket({ fd: read, readable: true, writable: false }), to)
  } catch (error) {
    for (const fd of ours) closeSync(fd)
    throw error
  } finally {
    for (const fd of theirs) closeSync(fd)
  }
}

/** One that Node does not know of, so that it is we who wait for it, or it would stay a zombie. */
class Child implements Started {
  #isGone = false
  #input: number | undefined
  readonly #calls: Native

  constructor(calls: Native, pid: number, output: Socket, input: number | undefined) {
    this.#calls = calls
    this.pid = pid
    this.output = output
    this.#input = input
    waitFor(this)
  }

  readonly pid: number
  readonly output: Socket

  endInput(): void {
    if (this.#input !== undefined) closeSync(this.#input)
    this.#input = undefined
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (!this.hasEnded()) attempt(() => process.kill(this.pid, name))
  }

  async ended(): Promise<void> {
    if (!this.hasEnded()) await this.#calls.untilEnded(this.pid)
    this.#isGone = true
    lookAtAll()
  }

  hasEnded(): boolean {
    this.#isGone ||= this.#calls.hasEnded(this.pid)
    return this.#isGone
  }
}

const children = new Set<Child>()

/** A thread that hears of no signals looks at them when it starts the next one. */
function waitFor(child: Child): void {
  if (children.size === 0) process.on('SIGCHLD', lookAtAll)
  children.add(child)
  // It may have ended before anybody listened.
  lookAtAll()
}

function lookAtAll(): void {
  for (const child of children) if (child.hasEnded()) children.delete(child)
  if (children.size === 0) process.off('SIGCHLD', lookAtAll)
}

function startByNode([program = '', ...words]: readonly string[], given: GivenDescriptors): Started {
  const child = spawn(program, words, { cwd: '/', env: {}, detached: true, stdio: [...given] })
  const end = once(child, 'exit').catch(() => undefined)
  const { pid, stdout } = child
  if (pid === undefined || stdout === null) throw new AwError('aw_command_failed', `${program} cannot be started`)
  child.unref()
  return {
    pid,
    output: stdout,
    endInput: () => child.stdin?.destroy(),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    signal: (name) => void child.kill(name),
    async ended() {
      child.ref()
      await end
    },
  }
}
