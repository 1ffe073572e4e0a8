import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openAw, type Aw, type Workspace } from '../../../src/index.ts'
import { sizesFrom } from './sizes.ts'

const driver = process.env['AW_TEST_DRIVER'] ?? ''
export const sizes = sizesFrom(process.env['AW_TEST_SIZES'] ?? '')

/** A home on the driver that is tried, and a workspace in it that holds a little project. */
export async function openHome(): Promise<{ aw: Aw; home: string; folder: string; first: Workspace }> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-scale-'))
  const [home, folder] = [join(base, 'home'), join(base, 'source')]
  fs.mkdirSync(join(folder, 'src'), { recursive: true })
  for (let index = 0; index < 40; index++) fs.writeFileSync(join(folder, 'src', `${index}`), `${index}`.repeat(500))
  const aw = await openAw({ home, set: { 'storage.driver': driver, 'snapshots.max': '0' } })
  onTestFinished(() => aw[Symbol.asyncDispose]())
  return { aw, home, folder, first: await aw.create({ id: 'first/main', from: { folder } }) }
}

export const write = ({ path }: { path: string }, name: string, text: string): void =>
  fs.writeFileSync(join(path, 'work', name), text)

export const read = ({ path }: { path: string }, name: string): string =>
  fs.readFileSync(join(path, 'work', name), 'utf8')

export const names = ({ path }: { path: string }): string[] => fs.readdirSync(join(path, 'work')).toSorted()

/** Tells how long something took, to whoever wants to know. */
export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const before = performance.now()
  const result = await work()
  note(what, performance.now() - before)
  return result
}

export function note(what: string, milliseconds: number): void {
  const file = process.env['AW_TEST_TIMES']
  if (file !== undefined) fs.appendFileSync(file, `${what}: ${milliseconds.toFixed(1)} ms\n`)
}
