import { spawnSync } from 'node:child_process'
import { findSystemProgram } from '../processes/run.ts'

/**
 * What is written to the terminal on descriptor 0 comes out as it is. Node's raw mode still adds a carriage return to
 * each line feed, which spoils what programs draw that have the whole terminal to themselves. Node puts this back when
 * it leaves its raw mode. Without `stty` all stays as it is.
 */
export function writeUntranslated(): void {
  const stty = findSystemProgram('stty')
  if (stty !== undefined) spawnSync(stty, ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'], timeout: 5000 })
}
