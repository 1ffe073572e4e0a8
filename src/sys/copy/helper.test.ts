import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyProgram } from './helper.ts'
import { copyTree } from './tree.ts'
import { native } from '../syscalls/native.ts'
import { chownTree } from './chown-tree.ts'
import { attributesText } from '../trees/attributes.ts'

let base: string
const source = (name = ''): string => join(base, 'source', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-plain-'))
  fs.mkdirSync(source())
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
const program = copyProgram() ?? 'none'

/** All that is to be the same, of each thing below a directory. */
function described(top: string): Record<string, string> {
  const seen = new Map<bigint, number>()
  const told: Record<string, string> = {}
  const visit = (directory: Buffer): void => {
    for (const name of fs
      .readdirSync(directory, { encoding: 'buffer' })
      .toSorted((one, other) => Buffer.compare(one, other))) {
      const path = Buffer.concat([directory, Buffer.from('/'), name])
      const stat = fs.lstatSync(path, { bigint: true })
      const twin = seen.get(stat.ino) ?? seen.set(stat.ino, seen.size).size
      const content = stat.isFile()
        ? fs.readFileSync(path, 'latin1')
        : stat.isSymbolicLink()
          ? fs.readlinkSync(path)
          : ''
      const blocks = stat.isFile() && stat.blocks * 512n < stat.size ? 'holes' : ''
      const { mode, uid, gid, size, nlink, mtimeNs } = stat
      const about = [mode.toString(8), uid, gid, stat.isDirectory() ? '' : size, nlink, mtimeNs, blocks]
      told[path.toString('latin1').slice(top.length)] = [
        ...about,
        stat.nlink > 1n && !stat.isDirectory() ? twin : '',
        attributesText(path, 'anywhere'),
        content.length > 64
          ? `${content.length} bytes, ${Buffer.from(content).readUInt32LE(content.length >> 1)}`
          : content,
      ].join(' ')
      if (stat.isDirectory()) visit(path)
    }
  }
  visit(Buffer.from(top))
  return told
}

/** Everything that a tree can have, and most of it in several directories. */
function makeOddTree(): void {
  const odd = Buffer.from([0x6f, 0xff, 0x64, 0x20, 0x0a, 0xe4])
  for (let part = 0; part < 6; part++) {
    const directory = source(`d${part}/e/f`)
    fs.mkdirSync(directory, { recursive: true })
    const at = (name: string): string => join(directory, name)
    for (let n = 0; n < 20; n++) fs.writeFileSync(at(`file-${n}`), `${n} `.repeat(n * 97), { mode: 0o600 + n })
    fs.writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), odd]), 'odd')
    fs.writeFileSync(at('empty'), '')
    fs.writeFileSync(at('runs'), '#!/bin/sh\n', { mode: 0o755 })
    fs.chmodSync(at('runs'), 0o4755)
    fs.symlinkSync('../../nowhere', at('dangling'))
    fs.symlinkSync('/etc/passwd', at('outside'))
    fs.linkSync(at('file-3'), source(`d${part}/twin`))
    if (part > 0) fs.linkSync(source('d0/twin'), at('far twin'))
    execFileSync('mkfifo', [at('pipe')])
    fs.mkdirSync(at('nothing'))
    fs.writeFileSync(at('sparse'), 'start')
    fs.truncateSync(at('sparse'), 3_000_000)
    fs.utimesSync(at('file-7'), 1.5, -3.25)
    native()?.lsetxattr(at('file-8'), 'user.colour', Buffer.from('blue'))
    native()?.lsetxattr(source(`d${part}`), 'user.shape', Buffer.from('round'))
    fs.writeFileSync(at('read-only'), 'read')
    native()?.lsetxattr(at('read-only'), 'user.colour', Buffer.from('red'))
    fs.chmodSync(at('read-only'), 0o444)
    fs.mkdirSync(at('closed'))
    fs.writeFileSync(at('closed/in'), 'in')
    fs.chmodSync(at('closed'), 0o555)
    fs.utimesSync(at('closed'), 12, 34)
  }
  fs.chmodSync(source(), 0o755)
}

/** An ACL as the kernel has it: its version, then who, what and an id that means nothing. */
const ownerOnly = Buffer.from(
  [
    [1, 7],
    [4, 0],
    [32, 0],
  ].reduce((text, [tag = 0, may = 0]) => `${text}${hex(tag)}${hex(may)}ffffffff`, '02000000'),
  'hex',
)
function hex(value: number): string {
  return Buffer.from([value, 0]).toString('hex')
}

describe('what is odd', () => {
  test.each([
    ['a tree of our own', { own: true }, undefined],
    ['a folder', {}, undefined],
    ['a folder whose copy is to be durable', { durable: true }, undefined],
    ['what comes out of a workspace', { outward: true }, undefined],
    ['a folder with something guarded', {}, 'd4/e/f/file-5'],
  ])('in %s is copied as without the program', async (_, options, guarded) => {
    makeOddTree()
    const identities = new Set<string>()
    if (guarded !== undefined) {
      const { dev, ino } = fs.statSync(source(guarded), { bigint: true })
      identities.add(`${dev}:${ino}`)
    }
    const copies = []
    for (const alone of [true, false]) {
      const index = new Map<string, string[]>()
      const copy = join(base, `copy-${alone}`)
      const report = await copyTree(source(), copy, {
        ...options,
        guarded: identities,
        alone,
        flushedAt: Date.now() + 3_600_000,
        index: {
          add: (path, names, prints) => index.set(path, names.map((name, i) => `${name} ${prints[i]}`).toSorted()),
          addTop: (print) => index.set('top', [print]),
          write: async () => undefined,
        },
      })
      copies.push({ report, index: Object.fromEntries(index), tree: described(copy), top: fs.statSync(copy).mtimeMs })
    }
    expect(copies[1]).toEqual(copies[0])
    expect(Object.keys(copies[1]?.tree ?? {}).length).toBeGreaterThan(150)
  })

  test('goes where others may do nothing by default with the modes that it has', async () => {
    makeOddTree()
    const into = join(base, 'into')
    fs.mkdirSync(into)
    native()?.lsetxattr(into, 'system.posix_acl_default', ownerOnly)
    for (const alone of [true, false]) await copyTree(source(), join(into, `copy-${alone}`), { alone })
    expect(described(join(into, 'copy-false'))).toEqual(described(join(into, 'copy-true')))
    expect(fs.statSync(join(into, 'copy-false/d0/e/f/file-1')).mode & 0o777).toBe(0o601)
  })

  test('by an ordinary user too', () => {
    makeOddTree()
    for (const name of ['d1/e/f/file-2', 'd2/e']) fs.chmodSync(source(name), 0)
    if (isRoot) execFileSync('chown', ['-R', '65534:65534', base])
    // To be given away takes it from them.
    for (let part = 0; part < 6; part++) if (part !== 2) fs.chmodSync(source(`d${part}/e/f/runs`), 0o4755)
    for (const how of ['own', 'folder', 'outward']) {
      const script = `
        import { copyTree } from ${JSON.stringify(join(import.meta.dirname, 'tree.ts'))}
        const [from, to] = ${JSON.stringify([source(), join(base, how)])}
        const tell = async (alone) => await copyTree(from, to + alone, { alone, ${how}: true })
        console.log(JSON.stringify([await tell(true), await tell(false)]))`
      const who = isRoot ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] : ['env']
      const [first, ...rest] = [...who, process.execPath, '--input-type=module-typescript', '-e', script]
      const { stdout, stderr } = spawnSync(first, rest, { encoding: 'utf8' })
      expect(stderr).toBe('')
      const [alone, together] = JSON.parse(stdout) as [{ skipped: unknown[] }, { skipped: unknown[] }]
      expect(together).toEqual(alone)
      expect(alone.skipped).toHaveLength(how === 'own' ? 0 : 2 + 5)
      if (isRoot) expect(described(join(base, `${how}false`))).toEqual(described(join(base, `${how}true`)))
      const { mode } = fs.statSync(join(base, `${how}false`, 'd0/e/f/runs'))
      expect(mode & 0o7777).toBe(how === 'outward' ? 0o755 : 0o4755)
    }
  })
})

test('what is swapped meanwhile leads nowhere else', async () => {
  const marker = 'not for you'
  fs.mkdirSync(join(base, 'vault/deeper'), { recursive: true })
  for (const name of ['hoard', 'deeper/hoard']) fs.writeFileSync(join(base, 'vault', name), marker)
  for (let n = 0; n < 15; n++) {
    fs.mkdirSync(source(`d${n}/deeper`), { recursive: true })
    for (const name of ['hoard', 'deeper/hoard']) fs.writeFileSync(source(`d${n}/${name}`), 'inside')
  }
  const attack = `
    import * as fs from 'node:fs'
    const top = ${JSON.stringify(source())}
    process.stdout.write('ready')
    for (let n = 0; ; n = (n + 1) % 15) {
      const [file, directory] = [top + '/d' + n + '/hoard', top + '/d' + n + '/deeper']
      fs.rmSync(file); fs.symlinkSync('../../vault/hoard', file)
      fs.renameSync(directory, directory + '.away'); fs.symlinkSync('../../vault/deeper', directory)
      fs.rmSync(file); fs.mkdirSync(file)
      fs.rmSync(directory); fs.renameSync(directory + '.away', directory)
      fs.rmdirSync(file); fs.writeFileSync(file, 'inside')
    }`
  const attacker = spawn(process.execPath, ['--input-type=module', '-e', attack], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(attacker.stdout, 'data')
  try {
    let copied = 0
    for (let n = 0; n < 20; n++) {
      const copy = join(base, `copy-${n}`)
      const { files } = await copyTree(source(), copy, { own: n % 2 === 0 })
      copied += files
      expect(spawnSync('grep', ['-r', marker, copy], { encoding: 'utf8' }).stdout).toBe('')
      fs.rmSync(copy, { recursive: true })
    }
    expect(copied).toBeGreaterThan(20 * 10)
  } finally {
    attacker.kill('SIGKILL')
    await once(attacker, 'exit')
  }
})

// Only root gives away.
test.each(isRoot ? ['a whole tree'] : [])('%s is given away, and nothing that a link leads to', async () => {
  makeOddTree()
  fs.writeFileSync(join(base, 'theirs'), '')
  fs.symlinkSync('../theirs', source('leads out'))
  fs.chownSync(source(), 1234, 1235)
  await chownTree(source())
  const owners = Object.values(described(source())).map((about) => about.split(' ').slice(1, 3).join(':'))
  expect([...new Set(owners)]).toEqual(['1234:1235'])
  expect(owners.length).toBeGreaterThan(150)
  expect(fs.statSync(join(base, 'theirs')).uid).toBe(0)
})

// Only root may mount.
test.each(isRoot ? ['with the program', 'alone'] : [])('on a full disk it says so, %s', async (how) => {
  for (let n = 0; n < 40; n++) fs.writeFileSync(source(`${n}`), Buffer.alloc(100_000, n + 1))
  const small = join(base, 'small')
  fs.mkdirSync(small)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', small])
  try {
    const copying = copyTree(source(), join(small, 'copy'), { alone: how === 'alone' })
    await expect(copying).rejects.toThrow(expect.objectContaining({ code: 'ENOSPC' }))
  } finally {
    execFileSync('umount', [small])
  }
})

describe('the program', () => {
  const started = (...args: string[]) => spawnSync(program, args, { encoding: 'utf8' })

  test.each([
    ['nothing', []],
    ['no threads', ['1', '0', '0', '0', 'copy', 'plain', 'once', 'late']],
    ['an owner that is none', ['1', '2', '-1', '0', 'copy', 'plain', 'once', 'late']],
    ['half of an identity', ['1', '2', '0', '0', 'copy', 'plain', 'once', 'late', '1:2']],
    ['a word that it does not know', ['1', '2', '0', '0', 'copy', 'plain', 'twice', 'late']],
    ['a process that is none', ['x', '2', '0', '0', 'copy', 'plain', 'once', 'late']],
    ['too much', ['1', '2', '0', '0', 'give', 'more']],
    ['not when to write out', ['1', '2', '0', '0', 'make']],
  ])('does nothing when it is told %s', (_, args) => {
    const { status, stdout, stderr } = started(...args)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('usage')])
  })

  test('does nothing for somebody who is gone', () => {
    expect(started('1', '2', '0', '0', 'copy', 'plain', 'once', 'late')).toMatchObject({ status: 1, stdout: '' })
  })
})
