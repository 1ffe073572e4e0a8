import type { Probe, SandboxDriver } from '../../ports/sandbox-driver.ts'
import { toAwError } from '../../domain/errors.ts'
import { probePlace } from './box/probe-place.ts'

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

async function tryOut(driver: SandboxDriver, place: ReturnType<typeof probePlace>): Promise<void> {
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
