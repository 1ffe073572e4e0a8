import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxDrivers } from '../drivers/sandbox/registry.ts'
import { isolations } from '../domain/sandbox/spec.ts'
import { processesHaving } from '../sys/process-use.ts'

/**
 * Sandboxes outlive whoever started them: a test that is over ends those of its home. Whoever brings their runs to an end
 * in the log would make the home anew if it were gone: so they are waited for.
 */
export async function endBoxes(home: string): Promise<void> {
  const driverOf = sandboxDrivers({ run: join(home, 'run') })
  for (const isolation of isolations) {
    const driver = await driverOf(isolation)
    for (const { name } of await driver.list()) await driver.remove(name)
  }
  for (let tries = 0; tries < 500 && (isSupervised(home) || isFollowed(home)); tries++) await sleep(20)
}

/** Whoever follows is started by what supervised, as its last act. */
const isSupervised = (home: string): boolean => processesHaving(home).some(({ command }) => command === 'aw-box')

const isFollowed = (home: string): boolean =>
  globSync('/proc/[0-9]*/cmdline').some((file) => {
    try {
      const words = readFileSync(file, 'latin1').split('\0')
      return words.includes(home) && words.includes('recover')
    } catch {
      return false
    }
  })
