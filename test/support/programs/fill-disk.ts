/**
 * fill-disk.ts DIRECTORY   fills the file system of the directory and prints what a home on it can still do
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openManager } from '../../../src/aw.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { isLive } from '../../../src/domain/workspace/state.ts'

const [disk = ''] = process.argv.slice(2)
const home = join(disk, 'home')
const source = join(disk, 'source')
const seen: Record<string, string> = {}

async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
  seen[what] = await work().then(
    () => 'ok',
    (error: unknown) => toAwError(error).code,
  )
}

const open = () => openManager({ home, env: {}, set: { 'space.min_free_mb': '0' } })

let manager = await open()
fs.mkdirSync(source)
fs.writeFileSync(join(source, 'large'), Buffer.alloc(1_000_000, 'x'))
for (const id of ['one', 'two', 'three']) await manager.call('create', { id })
await manager.call('fs write', { id: 'one', path: 'work/file', content: Buffer.from('kept') })
try {
  for (;;) fs.appendFileSync(join(disk, 'filler'), Buffer.alloc(65_536))
} catch {
  // The last bytes one by one: what is left may be less than a block.
}
try {
  for (;;) fs.appendFileSync(join(disk, 'filler'), Buffer.alloc(512))
} catch (error) {
  seen['fill the disk'] = String((error as NodeJS.ErrnoException).code)
}

await attempt('create', () => manager.call('create', { id: 'four' }))
await attempt('create from a folder', () => manager.call('create', { id: 'five', from: { folder: source } }))
await attempt('write', () => manager.call('fs write', { id: 'one', path: 'work/b', content: Buffer.alloc(1_000_000) }))
await attempt('reset', () => manager.call('reset', { id: 'one' }))
await attempt('read', () => manager.call('fs read', { id: 'one', path: 'work/file' }))
await attempt('list', () => manager.call('list', {}))
await attempt('destroy one', () => manager.call('destroy', { id: 'one' }))
await attempt('undelete one', () => manager.call('undelete', { id: 'one' }))
await attempt('destroy two', () => manager.call('destroy', { id: 'two' }))
await attempt('purge two', () => manager.call('purge', { id: 'two' }))
await attempt('recover', () => manager.call('recover', {}))
await attempt('verify', async () => {
  const { intact } = await manager.call('audit verify', {})
  if (!intact) throw new Error('The log does not verify')
})
await attempt('close', async () => manager[Symbol.asyncDispose]())
await attempt('open again', async () => (manager = await open()))
await attempt('destroy three', () => manager.call('destroy', { id: 'three' }))

const all = await manager.call('list', { all: true })
const known = all.filter(({ task }) => ['one', 'two', 'three'].includes(task))
seen['states'] = known
  .map(({ task, state }) => `${task} ${state}`)
  .toSorted()
  .join(', ')
const others = all.filter((one) => !known.includes(one) && (isLive(one.state) || one.operation !== null))
if (others.length > 0) seen['others'] = JSON.stringify(others)
const content = await manager.call('fs read', { id: 'one', path: 'work/file' })
seen['content'] = Buffer.from(content as Uint8Array).toString()
seen['left in tmp'] = fs.readdirSync(join(home, 'storage/tmp')).join(' ')

fs.rmSync(join(disk, 'filler'))
await attempt('create when there is room again', () => manager.call('create', { id: 'four' }))
await manager[Symbol.asyncDispose]()
await (await open())[Symbol.asyncDispose]()
seen['the reserve is back'] = String(fs.existsSync(join(home, 'reserve')))
console.log(JSON.stringify(seen))
