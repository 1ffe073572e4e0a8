import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

/** What an agent leaves with modes that keep its owner out, as an ordinary user, whom the kernel holds to them. */

/** Prints what the script returns. Root is refused nothing, so that root tries it as somebody else. */
function asOrdinary(script: string): unknown {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-modes-'))
  onTestFinished(() => {
    spawnSync('chmod', ['-R', 'u+rwx', base])
    fs.rmSync(base, { recursive: true, force: true })
  })
  fs.chmodSync(base, 0o777)
  const program = `
    import * as fs from 'node:fs'
    import { openManager } from ${JSON.stringify(fileURLToPath(new URL('../../src/aw.ts', import.meta.url)))}
    const base = ${JSON.stringify(base)}
    await using manager = await openManager({ home: base + '/home', env: {} })
    const { id, path } = await manager.call('create', { id: 'a' })
    console.log(JSON.stringify(await (async () => { ${script} })()))`
  const node = [process.execPath, '--input-type=module-typescript', '-e', program]
  const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
  const [command = '', ...args] = process.getuid?.() === 0 ? [...user, ...node] : node
  const { stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: base },
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

describe('a path in or at a directory that forbids writing', () => {
  it('is restored for its owner, with the mode that it had', () => {
    const told = asOrdinary(`
      const at = path + '/work/mod'
      const put = (text, mode) => {
        fs.mkdirSync(at, { recursive: true })
        fs.chmodSync(at, 0o755)
        fs.writeFileSync(at + '/g', text)
        fs.chmodSync(at, mode)
      }
      put('one', 0o555)
      await manager.call('snapshot', { id, label: 'one' })
      const told = []
      for (const paths of [['work/mod'], ['work/mod/g']]) {
        put('two', 0o555)
        const { changed } = await manager.call('restore', { id, snapshot: 'one', paths })
        told.push([changed, fs.readFileSync(at + '/g', 'utf8'), (fs.statSync(at).mode & 0o777).toString(8)])
      }
      return told`)
    expect(told).toEqual([
      [1, 'one', '555'],
      [1, 'one', '555'],
    ])
  })
})

describe('what is in directories that their owner may not enter', () => {
  it('is compared, with its text, and they keep their modes', () => {
    const told = asOrdinary(`
      const at = (name) => path + '/work/' + name
      fs.mkdirSync(at('closed/inner'), { recursive: true })
      fs.writeFileSync(at('closed/inner/text'), 'one\\n')
      await manager.call('snapshot', { id })
      fs.writeFileSync(at('closed/inner/text'), 'two\\n')
      fs.renameSync(at('closed/inner/text'), at('closed/inner/renamed'))
      fs.writeFileSync(at('closed/inner/new'), 'new\\n')
      fs.chmodSync(at('closed/inner'), 0)
      fs.chmodSync(at('closed'), 0)
      const lines = []
      for await (const item of manager.stream('diff', { from: id + '@head', text: true })) if (item.text) lines.push(...item.text.split('\\n'))
      const modes = [fs.statSync(at('closed')).mode & 0o777]
      fs.chmodSync(at('closed'), 0o700)
      modes.push(fs.statSync(at('closed/inner')).mode & 0o777)
      return { lines: lines.filter((line) => /^[-+][a-z]/.test(line)), modes }`)
    expect(told).toEqual({ lines: ['+new', '+two', '-one'], modes: [0, 0] })
  })
})

describe('files with several names that their owner may not read', () => {
  it('are kept, forked and restored as they are', () => {
    const told = asOrdinary(`
      const twins = { u: ['u', 'u2'], z: ['z', 'd/z', 'd/e/z'], x: ['x'] }
      const names = Object.values(twins).flat()
      const shown = (top) => names.map((name) => {
        const { mode, nlink, size } = fs.statSync(top + '/work/' + name)
        return [name, (mode & 0o777).toString(8), nlink, size].join(' ')
      })
      const at = (name) => path + '/work/' + name
      fs.writeFileSync(at('code'), 'good')
      await manager.call('snapshot', { id, label: 'good' })
      fs.writeFileSync(at('code'), 'broken')
      fs.mkdirSync(at('d/e'), { recursive: true })
      for (const [text, [first, ...others]] of Object.entries(twins)) {
        fs.writeFileSync(at(first), text.repeat(3))
        for (const other of others) fs.linkSync(at(first), at(other))
        fs.chmodSync(at(first), text === 'z' ? 0 : 0o200)
      }
      fs.linkSync(at('x'), base + '/outside')
      const made = shown(path)
      const { consistency } = await manager.call('snapshot', { id, label: 'twins', consistent: true })
      const { forks } = await manager.call('fork', { id, to: ['b'], consistent: true })
      const forked = shown(forks[0].workspace.path)
      const steps = []
      for (const [operation, input] of [
        ['restore', { snapshot: 'good', paths: ['work/code'] }],
        ['undo', {}],
        ['restore', { snapshot: 'good' }],
        ['restore', { snapshot: 'twins' }],
        ['undo', { force: true }],
        ['redo', {}],
      ]) {
        await manager.call(operation, { id, ...input })
        steps.push([fs.readFileSync(at('code'), 'utf8'), fs.readdirSync(path + '/work').length].join(' '))
      }
      const restored = shown(path)
      const { snapshots } = await manager.call('verify', { id })
      const problems = snapshots.flatMap((one) => one.problems)
      for (const [first] of Object.values(twins)) fs.chmodSync(at(first), 0o600)
      const texts = names.map((name) => fs.readFileSync(at(name), 'utf8'))
      return { consistency, made, forked, steps, restored, problems, texts }`)
    const made = ['u 200 2 3', 'u2 200 2 3', 'z 0 3 3', 'd/z 0 3 3', 'd/e/z 0 3 3']
    expect(told).toEqual({
      consistency: 'atomic',
      made: [...made, 'x 200 2 3'],
      // The name outside is of no tree of aw's.
      forked: [...made, 'x 200 1 3'],
      steps: ['good 6', 'broken 6', 'good 1', 'broken 6', 'good 1', 'broken 6'],
      restored: [...made, 'x 200 1 3'],
      problems: [],
      texts: ['uuu', 'uuu', 'zzz', 'zzz', 'zzz', 'xxx'],
    })
  })
})

describe('attributes of what its owner may not read', () => {
  it('are kept, forked and restored, also where a program helps to look', () => {
    const told = asOrdinary(`
      const { execFileSync } = await import('node:child_process')
      const at = (name, top = path) => top + '/work/' + name
      const locked = { secret: 0, 'write-only': 0o200, closed: 0o300 }
      const shown = (top) => Object.entries(locked).map(([name, mode]) => {
        const place = at(name, top)
        if ((fs.statSync(place).mode & 0o777) !== mode) return name + ' has another mode'
        fs.chmodSync(place, 0o700)
        const value = execFileSync('getfattr', ['--only-values', '-n', 'user.note', place], { encoding: 'utf8', stdio: 'pipe' })
        fs.chmodSync(place, mode)
        return value
      })
      for (let n = 0; n < 1000; n++) fs.writeFileSync(at('file-' + n), '')
      fs.mkdirSync(at('closed'))
      for (const name of ['secret', 'write-only']) fs.writeFileSync(at(name), 'x')
      for (const [name, mode] of Object.entries(locked)) {
        execFileSync('setfattr', ['-n', 'user.note', '-v', 'of ' + name, at(name)])
        fs.chmodSync(at(name), mode)
      }
      // The second one finds what is remembered of the first.
      for (const label of ['one', 'two']) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        await manager.call('snapshot', { id, label, consistent: true })
      }
      const { dirty } = await manager.call('describe', { id })
      const { forks } = await manager.call('fork', { id, to: ['b'] })
      const forked = shown(forks[0].workspace.path)
      for (const name of Object.keys(locked)) {
        fs.chmodSync(at(name), 0o700)
        execFileSync('setfattr', ['-x', 'user.note', at(name)])
        fs.chmodSync(at(name), locked[name])
      }
      const { differences } = await manager.call('restore', { id, snapshot: 'two' })
      return { dirty, forked, differences: differences.map((one) => one.path), restored: shown(path) }`)
    const notes = ['of secret', 'of write-only', 'of closed']
    expect(told).toEqual({
      dirty: false,
      forked: notes,
      differences: ['work/closed', 'work/secret', 'work/write-only'],
      restored: notes,
    })
  })
  it('are those of what is written over it', () => {
    const told = asOrdinary(`
      const { execFileSync } = await import('node:child_process')
      const told = []
      for (const mode of [0o400, 0o200, 0]) {
        const file = path + '/work/file-' + mode.toString(8)
        fs.writeFileSync(file, 'old')
        execFileSync('setfattr', ['-n', 'user.note', '-v', 'kept', file])
        fs.chmodSync(file, mode)
        await manager.call('fs write', { id, path: 'work/file-' + mode.toString(8), content: 'new' })
        const now = fs.statSync(file).mode & 0o777
        fs.chmodSync(file, 0o600)
        const value = execFileSync('getfattr', ['--only-values', '-n', 'user.note', file], { encoding: 'utf8', stdio: 'pipe' })
        told.push([now.toString(8), fs.readFileSync(file, 'utf8'), value].join(' '))
      }
      return told`)
    expect(told).toEqual(['400 new kept', '200 new kept', '0 new kept'])
  })
})
