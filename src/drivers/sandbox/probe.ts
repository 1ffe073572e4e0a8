import { join } from 'node:path'
import type { Probe, SandboxDriver } from '../../ports/sandbox-driver.ts'
import { toAwError } from '../../domain/errors.ts'
import { readIfPresent } from '../../sys/fs/durable-file.ts'
import { hostFs } from '../../sys/fs/host-fs.ts'
import { hasId, idsKey } from '../../sys/processes/ids.ts'
import { ownProcess } from '../../sys/processes/process.ts'
import { boxProgram } from './box/program.ts'
import { programKey } from './box/start/bwrap-program.ts'
import { ownedTemporaryName, writeAtomically } from './box/temporary-files.ts'

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
    const memo = join(run, `.works-${driver.isolation}`)
    const key = keyOf(program)
    if (readIfPresent(memo) !== key) {
      using place = probePlace(run)
      await tryOut(driver, place)
      writeAtomically(run, memo, Buffer.from(key))
    }
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
  } finally {
    await box.stop({ graceMs: 0 })
  }
}

/** What it worked with: the machine since it was started, our user and the programs. */
function keyOf(program: string | undefined): string {
  const programs = [boxProgram(), ...(program === undefined ? [] : [program])].map(programKey)
  return [ownProcess().boot_id, process.getuid?.(), idsKey(), ...programs].join('\n')
}

interface ProbePlace extends Disposable {
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
}

/** Somewhere to try out a box. */
function probePlace(run: string): ProbePlace {
  const name = ownedTemporaryName('probe')
  const tree = join(run, `${name}.tree`)
  hostFs.mkdirSync(tree, 0o755)
  if (process.getuid?.() === 0 && hasId(nobody)) hostFs.lchownSync(tree, nobody, nobody)
  return { name, tree, [Symbol.dispose]: () => hostFs.rmdirSync(tree) }
}

const nobody = 65_534
