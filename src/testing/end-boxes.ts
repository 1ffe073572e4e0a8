import { join } from 'node:path'
import { sandboxDrivers } from '../drivers/sandbox/registry.ts'
import { isolations } from '../domain/sandbox/spec.ts'

/** Sandboxes outlive whoever started them: a test that is over ends those of its home. */
export async function endBoxes(home: string): Promise<void> {
  const driverOf = sandboxDrivers({ run: join(home, 'run') })
  for (const isolation of isolations) {
    const driver = await driverOf(isolation)
    for (const { name } of await driver.list()) await driver.remove(name)
  }
}
