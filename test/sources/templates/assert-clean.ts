import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Ground } from '../fixture.ts'

/** Nothing is left of sandboxes, and of trees nothing but what is known. */
export async function assertClean({ aw, home }: Ground): Promise<void> {
  expect(fs.readdirSync(join(home, 'run')).filter((name) => !name.startsWith('.'))).toEqual([])
  expect(fs.readdirSync(join(home, 'storage', 'tmp'))).toEqual([])
  expect(fs.readdirSync(join(home, 'locks')).filter((name) => name.includes('scratch'))).toEqual([])
  expect(await aw.recover()).toMatchObject({ orphans: [], leftovers: [], lost: [] })
}

export async function setupsIn({ aw }: Ground): Promise<number> {
  let count = 0
  for await (const { type } of aw.events({})) if (type === 'template_setup_started') count += 1
  return count
}

export const logOf = async ({ aw }: Ground, name: string): Promise<string> =>
  Buffer.concat(
    (await aw.template.log({ name })).commands.map(({ output }) => Buffer.from(output as Uint8Array)),
  ).toString()

/** Processes of this machine with these arguments. */
export const running = (...argv: string[]): string[] =>
  fs.globSync('/proc/[0-9]*/cmdline').filter((file) => {
    try {
      return fs.readFileSync(file, 'latin1') === argv.map((word) => `${word}\x00`).join('')
    } catch {
      return false
    }
  })
