import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Inputs, Outputs } from '../../src/api/table.ts'
import { openManager } from '../../src/aw.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { type BoxOwners, readOwners } from '../../src/drivers/sandbox/box/record.ts'
import { liveness } from '../../src/sys/processes/process.ts'
import { endBoxes } from '../support/end-boxes.ts'

type Item = Outputs['exec']

export interface Ran {
  readonly stdout: string
  readonly end: Item
}

/** A real home with its manager, and what there is of its sandboxes on the machine. Everything goes with the test. */
export interface SandboxHome {
  readonly home: string
  readonly manager: Manager
  readonly make: (id: string) => Promise<Outputs['create']>
  readonly run: (input: Inputs['exec']) => Promise<Ran>
  readonly ownersOf: (sandbox: string) => BoxOwners
  /** Names in the directory for the boxes. */
  readonly boxes: () => string[]
}

/** @param whenDone of the test itself where several run at once */
export async function openSandboxHome(whenDone: typeof onTestFinished = onTestFinished): Promise<SandboxHome> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-boxes-'))
  const home = join(base, 'home')
  const manager = await openManager({ home })
  whenDone(async () => {
    await endBoxes(home)
    await manager[Symbol.asyncDispose]()
    fs.rmSync(base, { recursive: true, force: true })
  })
  return {
    home,
    manager,
    make: (id) => manager.call('create', { id }),
    run: (input) => collect(manager.stream('exec', input)),
    ownersOf: (sandbox) => ownersOf(join(home, 'run', sandbox)),
    boxes: () => fs.readdirSync(join(home, 'run')).filter((name) => !name.startsWith('.')),
  }
}

/** Who holds the box of a directory. */
export function ownersOf(directory: string): BoxOwners {
  const owners = readOwners(directory)
  if (owners === undefined) throw new Error(`There is no box in ${directory}`)
  return owners
}

async function collect(items: AsyncIterable<Item>): Promise<Ran> {
  let [stdout, end] = ['', undefined as Item | undefined]
  for await (const item of items) {
    if (item.type === 'stdout') stdout += Buffer.from(item.data ?? []).toString()
    end = item
  }
  if (end?.type !== 'exit') throw new Error('The command told no end')
  return { stdout, end }
}

/** Reads until the command has written something. */
export async function untilOutput(items: AsyncIterator<Item>): Promise<void> {
  for (;;) {
    const next = await items.next()
    if (next.done === true) throw new Error('The command has ended')
    if (next.value.type === 'stdout') return
  }
}

/** Which of these processes live, by what they are and not by their number. */
export const alive = ({ supervisor, inside }: BoxOwners): number[] =>
  [supervisor, ...inside].filter((owner) => liveness(owner) === 'alive').map(({ pid }) => pid)
