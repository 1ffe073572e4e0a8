import { commit } from '../src/drivers/storage/btrfs/kernel/subvolume.ts'
import { findSystemProgram } from '../src/sys/processes/run.ts'
import { startProgram } from '../src/sys/processes/start-program.ts'

/**
 * Until btrfs has taken apart what was removed: it does that in the background, and whoever waits for the disk meanwhile
 * waits for that too. Without a copy of this process, which would have to copy its own memory page by page afterwards.
 */
export async function btrfsCleaned(path: string): Promise<void> {
  // It begins after a commit, and by itself only twice a minute.
  await commit(path)
  const program = findSystemProgram('btrfs')
  if (program === undefined) throw new Error('There is no program btrfs')
  const child = startProgram([program, 'subvolume', 'sync', path], ['pipe', 'pipe', 'ignore'])
  child.output.resume()
  await child.ended()
  child.endInput()
}
