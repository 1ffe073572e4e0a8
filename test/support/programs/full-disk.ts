/**
 * full-disk.ts DIRECTORY COMMAND   fills the small file system of the directory from inside a workspace and prints what
 * the built command can still do there, what the SDK can, and what both can once there is room again
 */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openManager } from '../../../src/aw.ts'
import { toAwError } from '../../../src/domain/errors.ts'

const [disk = '', command = ''] = process.argv.slice(2)
const home = join(disk, 'home')
const env = { PATH: process.env['PATH'], AW_HOME: home, AW_SPACE_MIN_FREE_MB: '0', AW_SPACE_RESERVE_MB: '1' }
const seen: Record<string, string> = {}

/** With `--json`, so that an error is an object with its code. */
function aw(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args, '--json'], {
    env,
    encoding: 'utf8',
  })
  if (status === 0) return stdout
  return `${status} ${(JSON.parse(stderr) as { code: string; hint: string | null }).code}`
}
const outcome = (answer: string): string => (/^\d+ \w+$/.test(answer) ? answer : 'ok')
const commands = (when: string, ...lines: string[]): void => {
  for (const line of lines) seen[`${when}: ${line}`] = outcome(aw(...line.split(' ')))
}
const held = (): string => `${fs.statSync(join(home, 'reserve'), { throwIfNoEntry: false })?.size ?? 0}`

function fill(directory: string): void {
  for (const size of [65_536, 512]) {
    try {
      for (let i = 0; ; i++) fs.appendFileSync(join(directory, `work/filler-${size}`), Buffer.alloc(size, 'x'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

commands('with room', 'create a', 'create b', 'create c', 'create e', 'create f', 'destroy c')
const place = (name: string): string => join(home, 'workspaces', name, 'main')
fs.writeFileSync(join(place('a'), 'work/file'), 'kept')
seen['the reserve'] = held()

fill(place('b'))
commands('full', 'list', 'show a', 'path a', 'fs read a work/file', 'fs list a work', 'events', 'audit verify')
seen['the reserve when only read'] = held()
commands('full', 'create d', 'reset a', 'fs write a work/large --content x')
commands('full', 'undelete c', 'destroy a', 'undelete a', 'destroy f', 'purge f', 'gc', 'recover', 'audit verify')
fill(place('b'))
commands('full again', 'list', 'create d', 'destroy e', 'undelete e')

const sdk = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  seen[`sdk: ${what}`] = await work().then(
    () => 'ok',
    (error: unknown) => toAwError(error).code,
  )
}
fill(place('b'))
{
  await using manager = await openManager({ home, env })
  await sdk('list', () => manager.call('list', {}))
  await sdk('read', () => manager.call('fs read', { id: 'a', path: 'work/file' }))
  await sdk('create', () => manager.call('create', { id: 'd' }))
  await sdk('verify', () => manager.call('audit verify', {}))
  await sdk('destroy', () => manager.call('destroy', { id: 'e' }))
  await sdk('undelete', () => manager.call('undelete', { id: 'e' }))
  await sdk('destroy and purge what fills it', () => manager.call('destroy', { id: 'b', purge: true }))
  await sdk('create with room again', () => manager.call('create', { id: 'd' }))
}
seen['the reserve with room again'] = held()
commands('with room again', 'create g', 'destroy g', 'purge g')
seen['content'] = fs.readFileSync(join(place('a'), 'work/file'), 'utf8')
seen['intact'] = String((JSON.parse(aw('audit', 'verify')) as { intact: boolean }).intact)
// What was measured is written down only if measuring took long.
seen['left in the home'] = fs
  .readdirSync(home)
  .filter((name) => name !== 'sizes')
  .toSorted()
  .join(' ')
console.log(JSON.stringify(seen))
