import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runOnImage } from '../on-image.ts'
import { requirements, type Requirement } from '../requirements.ts'
import { textOf, type Sizes } from './sizes.ts'

/** How many there are does not depend on a third file system. */
export const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

/** Many snapshots, deep chains of forks and many forks at once, with the times that they took. */
export function expectScales({ driver, fileSystem, as }: Requirement, sizes: Sizes): void {
  const directory = fs.mkdtempSync(join(tmpdir(), 'aw-times-'))
  const times = join(directory, 'times')
  try {
    fs.chmodSync(directory, 0o755)
    fs.writeFileSync(times, '')
    fs.chmodSync(times, 0o666)
    const files = ['snapshots', 'chain', 'at-once'].map((name) => `test/storage/scale/${name}.inside.ts`)
    const env = { AW_TEST_DRIVER: driver, AW_TEST_SIZES: textOf(sizes), AW_TEST_TIMES: times }
    const { passed, failures } = runOnImage({ fileSystem, as, files, env })
    console.log(`${driver} as ${as}, ${textOf(sizes)}\n${fs.readFileSync(times, 'utf8')}`)
    expect(failures).toEqual([])
    expect(passed).toBe(7)
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
}
