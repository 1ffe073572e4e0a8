/**
 * Takes a lock, proves that it is alone, lets go; `rounds` times. Or holds it until it is killed.
 * Usage: lock-contender.ts hold FILE | lock-contender.ts race|retire FILE ROUNDS
 */
import { closeSync, openSync, unlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { lock } from '../../../src/sys/locks/lock.ts'
import { native } from '../../../src/sys/syscalls/native.ts'

const [mode, file = '', rounds = '1'] = process.argv.slice(2)
// There are two ways to take a lock, which must exclude each other: by chance this one or that.
if (process.pid % 2 === 0) native()

if (mode === 'hold') {
  const mine = await lock(file)
  console.log(mine ? 'holding' : 'refused')
  setInterval(() => undefined, 60_000)
} else {
  for (let i = 0; i < Number(rounds); i++) await alone()
  console.log('done')
}

async function alone(): Promise<void> {
  using mine = await lock(file)
  closeSync(openSync(`${file}.witness`, 'wx'))
  await sleep(Math.random() * 2)
  unlinkSync(`${file}.witness`)
  if (mode === 'retire') mine?.retire()
}
