import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freeze } from '../snapshot.ts'
import { verifyFrozen } from './inspect.ts'
import { openObjects } from './objects.ts'
import { openStore, type Store } from './store.ts'
import { sweep } from './sweep.ts'

let root: string
let store: Store
const volume = (name = ''): string => join(root, 'volume', name)
const snapshot = (name: string): string => join(root, 'snapshots', name)
const areas = (): string[] => [join(root, 'snapshots')]

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-sweep-'))
  fs.mkdirSync(volume())
  fs.mkdirSync(join(root, 'snapshots'))
  store = openStore(root)
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

test('removes what no snapshot needs, and what a crash left', async () => {
  fs.writeFileSync(volume('shared'), 'shared')
  fs.writeFileSync(volume('own'), 'own')
  await freeze(store, volume(), snapshot('one'))
  fs.unlinkSync(volume('own'))
  await freeze(store, volume(), snapshot('two'))
  expect(openObjects(root).all().size).toBe(2)
  fs.unlinkSync(snapshot('one'))
  fs.writeFileSync(join(root, 'incoming', 'left'), 'by a crash')
  await sweep(store, areas())
  expect(openObjects(root).all().size).toBe(1)
  expect(fs.readdirSync(join(root, 'incoming'))).toEqual([])
  expect(await verifyFrozen(store, snapshot('two'))).toMatchObject({ files: 1, problems: [] })
})

test('a content that was swept is stored again, though the index knows the file', async () => {
  fs.writeFileSync(volume('file'), 'content')
  await new Promise((resolve) => setTimeout(resolve, 60))
  await freeze(store, volume(), snapshot('one'))
  fs.unlinkSync(snapshot('one'))
  await sweep(store, areas())
  expect(openObjects(root).all().size).toBe(0)
  await freeze(store, volume(), snapshot('two'))
  expect(await verifyFrozen(store, snapshot('two'))).toMatchObject({ files: 1, problems: [] })
})

test('nothing goes while a manifest cannot be read', async () => {
  fs.writeFileSync(volume('file'), 'content')
  await freeze(store, volume(), snapshot('one'))
  fs.appendFileSync(snapshot('one'), 'x')
  await sweep(store, areas())
  expect(openObjects(root).all().size).toBe(1)
  const [problem] = (await verifyFrozen(store, snapshot('one')))?.problems ?? []
  expect(problem?.message).toContain('until it is removed, no space')
})

test('two processes, one that freezes and one that sweeps: every snapshot stays whole', async () => {
  const program = `
    import * as fs from 'node:fs'
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, 'store.ts'))}
    import { sweep } from ${JSON.stringify(join(import.meta.dirname, 'sweep.ts'))}
    const store = openStore(${JSON.stringify(root)})
    console.log('sweeping')
    for (;;) await sweep(store, [${JSON.stringify(join(root, 'snapshots'))}])`
  const sweeper = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
  try {
    await once(sweeper.stdout, 'data')
    for (let round = 0; round < 12; round++) {
      // The same contents again and again: the last snapshot that had them goes while the next one is made.
      fs.writeFileSync(volume('file'), `content ${round % 2}`)
      const next = freeze(store, volume(), snapshot(`${round}`))
      if (round > 0) fs.unlinkSync(snapshot(`${round - 1}`))
      await next
      expect(await verifyFrozen(store, snapshot(`${round}`))).toMatchObject({ files: 1, problems: [] })
      // Now and then it has swept all that can go.
      if (round % 3 === 0) await expect.poll(() => openObjects(root).all().size).toBe(1)
    }
    expect(store.sweep()).not.toBe('0')
  } finally {
    sweeper.kill('SIGKILL')
    await once(sweeper, 'exit')
  }
})
