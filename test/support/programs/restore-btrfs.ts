/** Restores a volume to its first snapshot; the crash tests stop it before each step. */
import { openBtrfs, snap, volume } from '../../storage/btrfs/fixture.ts'

const { storage } = openBtrfs(process.argv[2] ?? '')
await storage.restore(volume, snap(1), snap(2))
await storage[Symbol.asyncDispose]()
