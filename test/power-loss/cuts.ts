/**
 *   cuts.ts BASE DRIVER CUTS SEED
 *
 * Runs in a mount namespace of its own, with a file system at BASE/outer that can clone files. A disk image on it, reached
 * with direct I/O, holds a home. While a load works there the image is cloned at random instants: each clone is what the
 * disk would be if the power had failed. Then each is mounted, recovered and checked. Prints what was found.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { now } from './facts.ts'
import { randomFrom } from './random.ts'
import type { Cut, Outcome } from './outcome.ts'

const [base = '', driver = '', cuts = '', seed = ''] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const [outer, disk] = [join(base, 'outer'), join(base, 'disk')]
const [image, linesFile, source] = [join(outer, 'disk.img'), join(base, 'lines'), join(base, 'source')]
const home = join(disk, 'home')
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })

makeDisk()
const keepsUnflushed = cutWhileQuiet()
const outcome: Outcome = { ...(await cutWhileBusy()), keepsUnflushed, cuts: [] }
for (const { clone, acknowledged, until } of outcome.taken) outcome.cuts.push(look(clone, acknowledged, until))
console.log(JSON.stringify(outcome))

function makeDisk(): void {
  for (const path of [disk, join(source, 'deep')]) fs.mkdirSync(path, { recursive: true })
  for (let index = 0; index < 20; index++)
    fs.writeFileSync(join(source, index % 2 ? 'deep' : '', `${index}`), `source ${index}`.repeat(index * 50))
  run('truncate', '-s', '1G', image)
  if (driver === 'btrfs') run('mkfs.btrfs', '-q', image)
  else run('mkfs.ext4', '-q', '-O', 'has_journal', image)
}

/** Gives what unmounts it again. */
function mount(file: string): () => void {
  const device = run('losetup', '--find', '--show', '--direct-io=on', file).trim()
  try {
    run('mount', '-o', 'noatime', device, disk)
  } catch (error) {
    run('losetup', '--detach', device)
    throw error
  }
  return () => {
    run('umount', '--recursive', disk)
    // Its twins are to be mounted next, some of which are older.
    if (driver === 'btrfs') run('btrfs', 'device', 'scan', '--forget', device)
    run('losetup', '--detach', device)
  }
}

/** Whether a picture of the disk has what nobody has flushed, while nobody else flushes anything. */
function cutWhileQuiet(): boolean {
  const [clone, file] = [join(outer, 'quiet.img'), join(disk, 'not flushed')]
  const unmount = mount(image)
  run('sync', '-f', disk)
  fs.writeFileSync(file, 'nobody was told that this is durable')
  run('cp', '--reflink=always', image, clone)
  fs.rmSync(file)
  unmount()
  const unmountClone = mount(clone)
  const isThere = fs.existsSync(file)
  unmountClone()
  fs.rmSync(clone)
  return isThere
}

async function cutWhileBusy(): Promise<Omit<Outcome, 'cuts' | 'keepsUnflushed'>> {
  const unmount = mount(image)
  const load = spawn(process.execPath, [program('load.ts'), home, driver, source, seed], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(load, 'exit')
  const lines: string[] = []
  const done = once(
    createInterface({ input: load.stdout }).on('line', (line) => lines.push(line)),
    'close',
  )
  const taken: Outcome['taken'][number][] = []
  while (lines.length < 20 && load.exitCode === null) await sleep(20)
  while (taken.length < Number(cuts) && load.exitCode === null) {
    await sleep(random.below(500))
    const clone = join(outer, `cut-${taken.length}.img`)
    const acknowledged = lines.length
    await once(spawn('cp', ['--reflink=always', image, clone], { stdio: 'inherit' }), 'exit')
    taken.push({ clone, acknowledged, until: now() })
  }
  load.stdin.end()
  const [code] = (await ended) as [number | null]
  await done
  fs.writeFileSync(linesFile, lines.join('\n'))
  unmount()
  return { code, lines: lines.length, taken }
}

function look(clone: string, acknowledged: number, until: number): Cut {
  const unmount = mount(clone)
  try {
    const args = [home, driver, linesFile, `${acknowledged}`, `${until}`]
    return JSON.parse(run(process.execPath, program('check.ts'), ...args)) as Cut
  } finally {
    unmount()
    fs.rmSync(clone)
  }
}
