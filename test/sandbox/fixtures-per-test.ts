import { afterEach } from 'vitest'
import type { Sandbox } from '../../src/ports/sandbox-driver.ts'
import { ran } from '../contracts/sandbox.ts'
import { type LevelName, openPlace, type Place } from './fixture.ts'

/** Makes places that are removed after each test, with all boxes in them. */
export function openedPlaces(): (level: LevelName) => Place {
  const places: Place[] = []
  afterEach(async () => {
    for (const { driver, close } of places.splice(0)) {
      for (const { name } of await driver.list()) await driver.remove(name)
      close()
    }
  })
  return (level) => {
    const made = openPlace(level)
    places.push(made)
    return made
  }
}

/** What a script writes, to stdout and stderr as it comes. */
export const sh = async (box: Sandbox, script: string): Promise<string> =>
  (await ran(box, ['sh', '-c', `exec 2>&1; ${script}`])).stdout
