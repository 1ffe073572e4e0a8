import { afterEach, describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/domain/errors.ts'
import type { Exit } from '../../src/domain/sandbox/spec.ts'
import type { Command, Sandbox, SandboxDriver, SandboxSpec, StartOptions } from '../../src/ports/sandbox-driver.ts'
import { commandsContract } from './sandbox/commands.ts'
import { endsContract } from './sandbox/ending-commands.ts'
import { livesContract } from './sandbox/lifecycle.ts'
import { limitsContract } from './sandbox/limits.ts'
import { streamsContract } from './sandbox/streams.ts'

/** A driver with a place of its own and one tree, and the programs that its commands are made of. */
export interface SandboxSubject {
  readonly driver: SandboxDriver
  /** A second driver on the same place, as another process would have. */
  readonly reopen: () => SandboxDriver
  readonly spec: SandboxSpec
  /** Whom trees belong to, if not whoever runs this. */
  readonly owner?: number | undefined
  readonly programs: Programs
  readonly write: (path: string, content: string) => void
  readonly read: (path: string) => string | undefined
  /** After the boxes have been removed. */
  readonly close: () => void
}

export interface Programs {
  readonly echo: (text: string) => string[]
  /** To stderr. */
  readonly complain: (text: string) => string[]
  readonly exit: (code: number) => string[]
  readonly sleep: (ms: number) => string[]
  readonly cat: (...paths: string[]) => string[]
  readonly write: (path: string, text: string) => string[]
  readonly env: (name: string) => string[]
  readonly pwd: () => string[]
  readonly flood: (bytes: number) => string[]
}

export type OpenSandbox = () => Promise<SandboxSubject>

export const code = (expected: ErrorCode): unknown => expect.objectContaining({ code: expected })

/** Plans a box and starts it, as most tests do in one breath. */
export const startPlanned = async (
  driver: SandboxDriver,
  name: string,
  spec: SandboxSpec,
  options?: StartOptions,
): Promise<Sandbox> => driver.start(name, await driver.plan(spec), options)

export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly exit: Exit
}

/** Runs a command to its end and reads all that it writes. */
export async function ran(box: Sandbox, argv: readonly string[], more: Partial<Command> = {}): Promise<Ran> {
  const { output, exit } = box.exec({ argv, cwd: '.', env: {}, limits: {}, ...more })
  const text = { stdout: '', stderr: '' }
  for await (const { stream, data } of output) text[stream] += Buffer.from(data).toString('latin1')
  return { ...text, exit: await exit }
}

const suites: Readonly<Record<string, (open: OpenSandbox) => void>> = {
  lives: livesContract,
  commands: commandsContract,
  streams: streamsContract,
  ends: endsContract,
  limits: limitsContract,
}

/** Everything `ports/sandbox-driver.ts` promises of every level. */
export function sandboxContract(name: string, makeSubject: OpenSandbox): void {
  describe(`sandbox driver: ${name}`, () => {
    const subjects: SandboxSubject[] = []
    const open: OpenSandbox = async () => {
      const subject = await makeSubject()
      subjects.push(subject)
      return subject
    }
    afterEach(async () => {
      for (const { driver, close } of subjects.splice(0)) {
        try {
          for (const box of await driver.list()) await driver.remove(box.name)
        } finally {
          await driver[Symbol.asyncDispose]()
          close()
        }
      }
    })

    it('can tell whether it works, and leaves nothing behind by that', async () => {
      const { driver } = await open()
      expect(await driver.probe()).toMatchObject({ usable: true })
      expect(await driver.list()).toEqual([])
    })
    describe.each(Object.entries(suites))('%s', (_, suite) => {
      suite(open)
    })
  })
}

/** A spec with other parts. */
export const withSpec = ({ spec }: SandboxSubject, more: Partial<SandboxSpec>): SandboxSpec => ({ ...spec, ...more })
