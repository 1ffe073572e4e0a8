/**
 * Swaps a directory and a link that leads out, as fast as the kernel can, until it is killed. Run as a process of its
 * own: an attacker does not share our event loop. Prints a line when it has begun.
 */
import { native, RENAME } from '../../src/sys/syscalls/native.ts'
import { openSync } from 'node:fs'

const [directory = '', one = '', other = ''] = process.argv.slice(2)
const calls = native()
if (!calls) throw new Error('The attacker needs renameat2')
const dir = openSync(directory, 'r')
process.stdout.write('swapping\n')
for (;;) {
  try {
    calls.renameat2(dir, one, dir, other, RENAME.EXCHANGE)
  } catch {
    // Our side removes and makes these names too; they come back.
  }
}
