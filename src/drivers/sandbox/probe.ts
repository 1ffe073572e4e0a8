import { join } from 'node:path'
import type { Probe, SandboxDriver } from '../../ports/sandbox-driver.ts'
import { toAwError } from '../../domain/errors.ts'
import { readIfPresent } from '../../sys/fs/durable-file.ts'
import { hostFs } from '../../sys/fs/host-fs.ts'
import { hasId, idsKey } from '../../sys/processes/ids.ts'
import { ownProcess } from '../../sys/processes/process.ts'
import { boxProgram } from './box/program.ts'
import { programKey } from './box/start/bwrap-program.ts'
import { passingName, putFile } from './box/unfinished.ts'

/**
 * Starts a box for real, runs something in it and ends it. What worked once is remembered until the machine is started
 * anew or one of the programs changes; what did not is tried again each time.
 */
export async function probeByStarting(
  driver: SandboxDriver,
  run: string,
  program: string | undefined,
  notes: readonly string[],
): Promise<Probe> {
  try {
    using place = probePlace(run, driver.isolation, program)
    if (!place.known) await tryOut(driver, place)
    return { usable: true, notes }
  } catch (error) {
    const { message, hint } = toAwError(error)
    return { usable: false, reasons: [message], hint }
  }
}

async function tryOut(driver: SandboxDriver, place: ProbePlace): Promise<void> {
  const plan = await driver.plan({
    attachment: { kind: 'dir', path: place.tree },
    mount: '/workspace',
    protect: [],
    binds: [],
    network: { mode: driver.isolation === 'none' ? 'host' : 'none' },
    limits: {},
    defaults: {},
    cgroupRequired: false,
    env: {},
    once: true,
  })
  const box = await driver.start(place.name, plan)
  try {
    const { exit } = box.exec({ argv: ['true'], cwd: '.', env: {}, limits: { wall_ms: 20_000 } })
    const { code, signal } = await exit
    if (code !== 0) throw new Error(`a command in it ended with ${signal ?? code}`)
    place.remember()
  } finally {
    await box.stop({ graceMs: 0 })
  }
}

interface ProbePlace extends Disposable {
  /** It worked before, with the same programs, since the machine was started. */
  readonly known: boolean
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
  remember(): void
}

/** Somewhere to try out a box. */
function probePlace(run: string, isolation: string, program: string | undefined): ProbePlace {
  const memo = join(run, `.works-${isolation}`)
  const programs = [boxProgram(), ...(program === undefined ? [] : [program])].map(programKey)
  const key = [ownProcess().boot_id, process.getuid?.(), idsKey(), ...programs].join('\n')
  const known = readIfPresent(memo) === key
  const name = passingName('probe')
  const tree = join(run, `${name}.tree`)
  if (!known) hostFs.mkdirSync(tree, 0o755)
  if (!known && process.getuid?.() === 0 && hasId(nobody)) hostFs.lchownSync(tree, nobody, nobody)
  return {
    known,
    name,
    tree,
    remember: () => putFile(run, memo, Buffer.from(key)),
    [Symbol.dispose]: () => {
      if (!known) hostFs.rmdirSync(tree)
    },
  }
}

const nobody = 65_534
