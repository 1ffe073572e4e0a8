import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let base: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-once-'))
  fs.chmodSync(base, 0o777)
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

interface Told {
  readonly quiet: boolean
  /** Of each name of the file: path, mode, time in seconds, number of names, content. */
  readonly names: readonly string[]
  /** How often it was read. */
  readonly reads: number
  /** Whether each print is what the kernel tells now. */
  readonly isNow: boolean
}

/**
 * Scans a tree with a file of four names, one of them outside, that nobody may read, and another such that is read after
 * the first name. Root may read all, so that root tries it as somebody else. Once for each of `meddling`, which runs in
 * each reading of a file and knows their `count`.
 */
function scanned(alone: boolean, meddling: readonly string[], mode = 0): readonly Told[] {
  const here = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
  const program = `
    import * as fs from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { statEntry } from ${here('../../../../../sys/trees/stat.ts')}
    import { parseEntry } from ${here('../entry.ts')}
    import { scanTree } from ${here('scan.ts')}
    async function scanned(base, meddle) {
      fs.mkdirSync(base + '/tree/d/e', { recursive: true })
      process.chdir(base)
      fs.writeFileSync('tree/a', 'before')
      for (const name of ['tree/d/e/c', 'tree/z', 'outside']) fs.linkSync('tree/a', name)
      fs.writeFileSync('tree/b', 'between', { mode: 0 })
      fs.utimesSync('tree/a', 1, 1)
      fs.chmodSync('tree/a', ${mode})
      await sleep(40)
      const inode = String(fs.statSync('tree/a').ino)
      let [count, reads] = [0, 0]
      function* read(fd) {
        if (String(fs.fstatSync(fd).ino) === inode) reads += 1
        const content = fs.readFileSync(fd, 'utf8')
        meddle(++count)
        return { content, bytes: content.length }
      }
      const top = fs.openSync('tree', 'r')
      const options = { known: () => new Map(), flushedAt: Date.now(), writeOut: false, alone: ${alone}, read }
      const { entries, quiet } = await scanTree(top, options)
      const twins = [...entries.values()].map(({ line }) => parseEntry(line)).filter((entry) => entry.inode === inode)
      const told = ({ path, mode, mtimeNs, links, content }) =>
        [path, mode.toString(8), mtimeNs / 1_000_000_000n, links, content].join(' ')
      const isNow = [...entries].every(([path, { print }]) => statEntry(top, path === '.' ? '' : path)?.print === print)
      return { quiet, names: twins.map(told), reads, isNow }
    }
    // Until the clock of the kernel has ticked: before, it would tell the same.
    const tick = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25)
    const write = (text) => {
      fs.chmodSync('tree/a', 0o600)
      fs.writeFileSync('tree/a', text)
      fs.utimesSync('tree/a', 1, 1)
      fs.chmodSync('tree/a', ${mode})
    }
    const meddling = [${meddling.map((change) => `(count) => { ${change} }`).join(', ')}]
    const all = []
    for (const [index, meddle] of meddling.entries()) all.push(await scanned(${JSON.stringify(base)} + '/' + index, meddle))
    console.log(JSON.stringify(all))`
  const node = [process.execPath, '--input-type=module-typescript', '-e', program]
  const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
  const [command = '', ...args] = process.getuid?.() === 0 ? [...user, ...node] : node
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Told[]
}

const named = (about: string): string[] => ['a', 'd/e/c', 'z'].map((path) => `${path} ${about}`)

/** What somebody else does to it, and what it is then. */
const changes = [
  [`write('AFTER!')`, '0 1 4 AFTER!'],
  [`fs.chmodSync('tree/z', 0o040)`, '40 1 4 before'],
  [`fs.chmodSync('tree/z', 0o640)`, '640 1 4 before'],
  [`fs.utimesSync('tree/z', 2, 2)`, '0 2 4 before'],
  [`fs.unlinkSync('outside')`, '0 1 3 before'],
] as const

describe.each([
  ['with a program', false],
  ['by ourselves', true],
])('a file with several names that nobody may read, %s', (_, alone) => {
  test.each([0, 0o200])('is one that does not change, and is read once in a pass: mode %i', (mode) => {
    const names = named(`${mode.toString(8)} 1 4 before`)
    expect(scanned(alone, [''], mode)).toEqual([{ quiet: true, names, reads: 2, isNow: true }])
  })

  // In each pass it is the first that is read, and then the one between.
  test.each([1, 2, 3, 4])('has changed if somebody else changes it in reading %i', (at) => {
    const told = scanned(
      alone,
      changes.map(([change]) => `if (count === ${at}) { tick(); ${change} }`),
    )
    expect(told.map(({ quiet, names }) => ({ quiet, names }))).toEqual(
      changes.map(([, about]) => ({ quiet: true, names: named(about) })),
    )
  })

  test('is being written as long as somebody else changes it', () => {
    const always = [
      'write(`text ${count % 10}`)',
      `fs.chmodSync('tree/z', count % 3 === 0 ? 0o040 : 0)`,
      `fs.utimesSync('tree/z', count, count)`,
    ]
    expect(scanned(alone, always).map(({ quiet }) => quiet)).toEqual([false, false, false])
  })
})
