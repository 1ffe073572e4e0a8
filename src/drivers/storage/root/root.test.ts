import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { assertRoot, initRoot, moveTree } from './root.ts'

let base: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-root-'))
  for (const area of ['volumes', 'trash']) fs.mkdirSync(join(base, area))
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const ordinary = 65534

/** Root is refused nothing, so that root tries it as somebody else. */
function asUser(script: string): unknown {
  for (const path of [base, join(base, 'volumes'), join(base, 'trash')]) fs.chmodSync(path, 0o777)
  const program = `
    import * as fs from 'node:fs'
    import * as storage from ${JSON.stringify(join(import.meta.dirname, 'root.ts'))}
    const [base, volume, trash] = ${JSON.stringify([base, join(base, 'volumes/a'), join(base, 'trash/a.1')])}
    const modeOf = (path) => fs.statSync(path).mode & 0o7777
    const attempt = async (call) => { try { return await call() } catch (error) { return error.code } }
    console.log(JSON.stringify(await (async () => { ${script} })()))`
  const user = ['--reuid', `${ordinary}`, '--regid', `${ordinary}`, '--clear-groups']
  const node = [process.execPath, '--input-type=module-typescript', '-e', program]
  const run =
    process.getuid?.() === 0
      ? spawnSync('setpriv', [...user, ...node], { encoding: 'utf8' })
      : spawnSync(node[0] ?? '', node.slice(1), { encoding: 'utf8' })
  if (run.stdout === '') throw new Error(run.stderr)
  return JSON.parse(run.stdout)
}

test.each([false, true])(
  'a tree that its owner may not write to moves, and comes back as it was (alone: %s)',
  (alone) => {
    const told = asUser(`
    fs.mkdirSync(volume)
    fs.writeFileSync(volume + '/file', '')
    fs.chmodSync(volume, 0o555)
    const there = [await storage.moveTree(volume, trash, { alone: ${alone} }), modeOf(trash), fs.existsSync(volume)]
    const back = [await storage.moveTree(trash, volume, { alone: ${alone} }), modeOf(volume), fs.readdirSync(volume)]
    return { there, back }`)
    expect(told).toEqual({ there: [true, 0o555, false], back: [true, 0o555, ['file']] })
  },
)

test('one that cannot be moved all the same keeps its mode', () => {
  const told = asUser(`
    fs.mkdirSync(volume)
    fs.chmodSync(volume, 0o555)
    fs.mkdirSync(trash)
    fs.writeFileSync(trash + '/taken', '')
    const taken = await attempt(() => storage.moveTree(volume, trash))
    return { taken, mode: modeOf(volume), trash: fs.readdirSync(trash) }`)
  expect(told).toEqual({ taken: 'file_exists', mode: 0o555, trash: ['taken'] })
})

test('a move says when there is nothing to move', async () => {
  expect(await moveTree(join(base, 'volumes/none'), join(base, 'trash/none'))).toBe(false)
})

test.each(['', '0123456789abcdef'])(
  'a claim that another process has only begun (%j) does not become a key',
  (begun) => {
    const [root, claim] = [join(base, 'storage'), join(base, 'storage.id')]
    fs.writeFileSync(claim, begun)
    const key = initRoot(root, ['volumes'], claim)
    expect(key).toMatch(/^[0-9a-f]{32}$/)
    expect(initRoot(root, ['volumes'], claim)).toBe(key)
    expect(() => assertRoot(root, key)).not.toThrow()
    expect(() => assertRoot(root, 'other')).toThrow('belongs to another home')
  },
)
