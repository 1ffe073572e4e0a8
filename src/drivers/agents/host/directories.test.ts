import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeAgentDirectories, removeAgentDirectories } from './directories.ts'

let folder = ''
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'aw-places-'))
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const program = { name: 'mine', path: '/usr/bin/true', arguments: [] as string[] }
const runtime = { name: 'node', path: '/usr/bin/env' }
const make = (files: Record<string, string> = {}, given = program) =>
  makeAgentDirectories(join(folder, 'ws_1', 'mine'), { program: given, runtime, files }, undefined)

test('an agent has a state that nobody else reads, and a directory in which its program is found', async () => {
  const { state, programs } = await make({ 'a/b.json': '{}' })
  expect(fs.statSync(state).mode & 0o777).toBe(0o700)
  expect(fs.readFileSync(join(state, 'a/b.json'), 'utf8')).toBe('{}')
  expect(fs.readlinkSync(join(programs, 'mine'))).toBe('/usr/bin/true')
  expect(fs.readlinkSync(join(programs, 'node'))).toBe('/usr/bin/env')
})

test('what it has written stays; another program is in another directory, and the first is still there', async () => {
  const first = await make({ 'a.json': '{}' })
  fs.writeFileSync(join(first.state, 'a.json'), 'its own')
  const second = await make({ 'a.json': '{}', 'b.json': '{}' }, { ...program, arguments: ["it's", '$HOME'] })
  expect(second.state).toBe(first.state)
  expect(second.programs).not.toBe(first.programs)
  expect(fs.readdirSync(second.state)).toEqual(['a.json', 'b.json'])
  expect(fs.readFileSync(join(first.state, 'a.json'), 'utf8')).toBe('its own')
  expect(fs.existsSync(join(first.programs, 'mine'))).toBe(true)
  expect(fs.readFileSync(join(second.programs, 'mine'), 'utf8')).toBe(
    `#!/bin/sh\nexec '/usr/bin/true' 'it'\\''s' '$HOME' "$@"\n`,
  )
  expect(await make()).toEqual(first)
})

test('it is told one thing at a time, beside what it writes there itself', async () => {
  const tell = (text: string) =>
    makeAgentDirectories(
      join(folder, 'ws_1', 'mine'),
      { program, runtime, files: {}, instructions: { path: 'own/AGENTS.md', text } },
      undefined,
    )
  const { state } = await tell('The first')
  const file = join(state, 'own/AGENTS.md')
  const told = (): string => fs.readFileSync(file, 'utf8')
  expect(told()).toContain('\nThe first\n')
  fs.appendFileSync(file, 'What it remembers\n')
  await tell('The second')
  expect(told()).toContain('\nThe second\n')
  expect(told()).not.toContain('The first')
  expect(told()).toContain('What it remembers\n')
  const { ino } = fs.statSync(file)
  await tell('The second')
  // Nothing was to be done.
  expect(fs.statSync(file).ino).toBe(ino)
  fs.truncateSync(file, 2 ** 20 + 1)
  await tell('The third')
  expect(fs.statSync(file).size).toBe(2 ** 20 + 1)
  fs.rmSync(file)
  fs.symlinkSync(join(folder, 'outside'), file)
  await tell('The third')
  expect(fs.existsSync(join(folder, 'outside'))).toBe(false)
})

test('what an agent puts in the way neither leads out nor keeps its sandbox from being started', async () => {
  const { state } = await make()
  fs.mkdirSync(join(folder, 'outside'))
  fs.symlinkSync(join(folder, 'outside'), join(state, 'out'))
  fs.symlinkSync(join(folder, 'outside/x'), join(state, 'leaf'))
  fs.writeFileSync(join(state, 'file'), '')
  fs.symlinkSync('loop', join(state, 'loop'))
  await make({ 'out/a': 'x', leaf: 'x', 'file/a': 'x', 'loop/a': 'x', loop: 'x', good: 'x' })
  expect(fs.readdirSync(join(folder, 'outside'))).toEqual([])
  expect(fs.readFileSync(join(state, 'good'), 'utf8')).toBe('x')
})

test('what a crash left unfinished is begun anew, and all of it goes at once', async () => {
  fs.mkdirSync(join(folder, 'ws_1/mine/unfinished'), { recursive: true })
  fs.writeFileSync(join(folder, 'ws_1/mine/unfinished/node'), 'half')
  const { programs } = await make()
  expect(fs.readdirSync(programs).toSorted()).toEqual(['mine', 'node'])
  await removeAgentDirectories(folder, 'ws_1')
  await removeAgentDirectories(folder, 'ws_1')
  await removeAgentDirectories(join(folder, 'never-made'), 'ws_1')
  expect(fs.readdirSync(folder)).toEqual([])
})
