import { globSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxDrivers } from '../../src/drivers/sandbox/registry.ts'
import { isolations } from '../../src/domain/sandbox/spec.ts'

/**
 * Sandboxes outlive whoever started them: a test that is over ends those of its home. Whoever brings their runs to an end
 * in the log would make the home anew if it were gone: so they are waited for, and so is what starts them as its last act.
 */
export async function endBoxes(home: string): Promise<void> {
  const driverOf = sandboxDrivers({ run: join(home, 'run') })
  for (const isolation of isolations) {
    const driver = await driverOf(isolation)
    for (const { name } of await driver.list()) await driver.remove(name)
  }
  for (let tries = 0; tries < 500 && isFollowed(home); tries++) await sleep(20)
}

const isFollowed = (home: string): boolean =>
  globSync('/proc/[0-9]*').some((process) => {
    const words = unlessGone(() => readFileSync(`${process}/cmdline`, 'latin1').split('\0')) ?? []
    if (words[0]?.endsWith('/aw-box') === true) return hasOpen(process, home)
    return words.includes(home) && words.includes('recover')
  })

const hasOpen = (process: string, home: string): boolean =>
  globSync(`${process}/fd/*`).some((fd) => unlessGone(() => readlinkSync(fd))?.startsWith(`${home}/`))

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
