/**
 *   share-blocks.ts BASE   makes a workspace from a folder on the same file system; prints what that took
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openManager } from '../../../src/aw.ts'

const base = process.argv[2] ?? ''
const size = 32 * 2 ** 20
const source = join(base, 'source')
fs.mkdirSync(source)
fs.writeFileSync(join(source, 'large'), randomBytes(size))
fs.writeFileSync(join(source, 'notes'), 'as it was')

const used = (): number => {
  execFileSync('sync', ['-f', base])
  const { blocks, bfree, bsize } = fs.statfsSync(base)
  return (blocks - bfree) * bsize
}

await using manager = await openManager({ home: join(base, 'home'), env: {}, set: { 'space.min_free_mb': '0' } })
const before = used()
const { path, imported } = await manager.call('create', { id: 'a', from: { folder: source } })
const grownBy = used() - before
await manager.call('fs write', { id: 'a', path: 'work/notes', content: 'changed in the workspace' })
const copy = fs.readFileSync(join(path, 'work/notes'), 'utf8')
const original = fs.readFileSync(join(source, 'notes'), 'utf8')
console.log(JSON.stringify({ imported, grownBy, size, copy, original }))
