import { runOnImage, type Results } from './on-image.ts'
import type { HostDriver } from './subjects.ts'

const fileSystems = { dir: 'ext4', btrfs: 'btrfs', overlay: 'xfs' } as const

/**
 * So many random lives of a driver's trees, on a file system of their own, beside those of the oracle. The seed is
 * printed, and AW_SEED repeats one.
 */
export function liveRandomly(driver: HostDriver, { runs, maxSteps }: { runs: number; maxSteps: number }): Results {
  const seed = process.env['AW_SEED'] ?? String(Date.now() % 1_000_000)
  console.log(`${driver}: AW_SEED=${seed}, ${runs} runs of up to ${maxSteps} steps`)
  return runOnImage({
    fileSystem: fileSystems[driver],
    as: 'root',
    files: ['test/storage/random.inside.ts'],
    env: { AW_SEED: seed, AW_TEST_DRIVER: driver, AW_TEST_RUNS: `${runs}x${maxSteps}` },
  })
}
