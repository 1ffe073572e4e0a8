import { runOnImage, type FileSystem, type Results } from '../storage/on-image.ts'

/** What works only as root, and on a file system of its own; `dir` is swept where the tests run. */
export const sweptDrivers = [
  { driver: 'btrfs', fileSystem: 'btrfs' },
  { driver: 'overlay', fileSystem: 'ext4' },
] as const

/** The sweeps of snapshots, restores and forks with a driver; `step` leaves out points, beginning somewhere by the seed. */
export const onDriver = (
  driver: string,
  fileSystem: FileSystem,
  { step, seed }: { step: number; seed: number },
): Results =>
  runOnImage({
    fileSystem,
    as: 'root',
    files: ['test/crash/drivers.inside.ts'],
    env: { AW_STORAGE_DRIVER: driver, AW_STEP: `${step}`, AW_SEED: `${seed}` },
  })
