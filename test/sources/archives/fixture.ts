/** A directory to unpack into, beside one that nothing may reach. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackArchive, type UnpackOptions, type Unpacked } from '../../../src/drivers/archives/archive/unpack.ts'
import { readTree } from '../../support/tree.ts'

/** What is there, in a word each. */
type Brief = Readonly<Record<string, string>>

export interface Place extends Disposable {
  readonly base: string
  readonly outside: string
  /** As root, and with no options: what most people type. */
  plainTar(archive: Buffer): { status: number | null; tree: Brief }
  unpack(archive: Buffer, options?: Partial<UnpackOptions>): Promise<Unpacked & { tree: Brief }>
  /** Whether what lies outside is as it was. */
  isUntouched(): boolean
  /** Without what may be in the way. */
  read(directory: string): Brief
}

export function newPlace(): Place {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-unpack-'))
  const [outside, file] = [join(base, 'outside'), join(base, 'archive')]
  fs.mkdirSync(outside)
  fs.writeFileSync(join(outside, 'secret'), 'secret')
  const before = JSON.stringify(readTree(outside, { times: true }))
  let count = 0

  const empty = (): string => {
    const into = join(base, `into-${count++}`)
    fs.mkdirSync(into)
    return into
  }
  const read = (directory: string): Brief => {
    const briefs = Object.entries(readTree(directory)).map(([path, found]) => {
      if (found.kind === 'file') return [path, found.content.slice(0, 40)]
      if (found.kind === 'symlink') return [path, `-> ${found.target}`]
      return [path, found.kind === 'hardlink' ? `= ${found.to}` : found.kind === 'directory' ? '/' : 'special']
    })
    return Object.fromEntries(briefs) as Brief
  }
  return {
    base,
    outside,
    read,
    plainTar(archive) {
      const into = empty()
      fs.writeFileSync(file, archive)
      const { status } = spawnSync('tar', ['-xf', file, '-C', into], { env: { ...process.env, LC_ALL: 'C' } })
      return { status, tree: read(into) }
    },
    async unpack(archive, options) {
      const into = empty()
      fs.writeFileSync(file, archive)
      return { ...(await unpackArchive(file, into, { trusted: false, ...options })), tree: read(into) }
    },
    isUntouched: () => {
      const names = fs.readdirSync(base).filter((name) => !name.startsWith('into-') && name !== 'archive')
      return names.join() === 'outside' && JSON.stringify(readTree(outside, { times: true })) === before
    },
    [Symbol.dispose]: () => fs.rmSync(base, { recursive: true }),
  }
}
