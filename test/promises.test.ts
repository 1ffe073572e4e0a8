/** The promises of the README that no other test shows from outside: what comes back, and what is never touched. */
import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAw, type Aw } from '../src/index.ts'

let folder: string
let project: string
let aw: Aw

beforeEach(async () => {
  folder = fs.mkdtempSync(join(tmpdir(), 'aw-promises-'))
  project = join(folder, 'project')
  makeProject(project)
  aw = await openAw({ home: join(folder, 'home') })
})

afterEach(async () => {
  await aw[Symbol.asyncDispose]()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Whatever people have in a folder: hidden, ignored, empty, linked, odd. */
function makeProject(path: string): void {
  fs.mkdirSync(join(path, 'empty/deep'), { recursive: true })
  fs.mkdirSync(join(path, 'nested/.git'), { recursive: true })
  fs.writeFileSync(join(path, '.gitignore'), '.env\n')
  fs.writeFileSync(join(path, '.env'), 'KEY=1\n', { mode: 0o600 })
  fs.writeFileSync(join(path, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  fs.writeFileSync(join(path, 'a name with spaces\tand ünïcode'), Buffer.from([0, 255, 10]))
  fs.linkSync(join(path, 'run.sh'), join(path, 'nested/twin.sh'))
  fs.symlinkSync('../run.sh', join(path, 'nested/link'))
  fs.symlinkSync('/nowhere', join(path, 'dangling'))
  settle(path)
}

/** Gives everything a time of long ago that does not lie where rounding could go either way. */
const settle = (path: string): void =>
  void execFileSync('find', [path, '-exec', 'touch', '-h', '-d', '2001-09-09T01:46:40.125Z', '{}', '+'])

/**
 * Every name with its kind, mode, number of links, time, target and content, by tools that are not ours. Times to the
 * hundredth of a millisecond: a copy is given them as JavaScript numbers, which hold no more.
 */
function portrait(path: string): string {
  const look = `find . -printf '%p %y %m %n %T@ %l\\n' | sort; find . -type f -exec sha256sum {} + | sort`
  const seen = execFileSync('sh', ['-c', look], { cwd: path, encoding: 'utf8' })
  return seen.replaceAll(/\b\d+\.\d{10}\b/g, (time) => Number(time).toFixed(5))
}

describe('what comes back is what went', () => {
  test('after destroy and undelete', async () => {
    const workspace = await aw.create({ id: 'task/agent', from: { folder: project } })
    const work = join(workspace.path, 'work')
    fs.writeFileSync(join(work, 'new'), 'by the agent')
    const before = portrait(work)
    await workspace.destroy()
    expect(fs.existsSync(workspace.path)).toBe(false)
    await workspace.undelete()
    expect(portrait(work)).toBe(before)
  })

  test('in a copy of a folder', async () => {
    const workspace = await aw.create({ id: 'task/agent', from: { folder: project } })
    expect(portrait(join(workspace.path, 'work'))).toBe(portrait(project))
  })

  test('in a tree that a reset replaced', async () => {
    const workspace = await aw.create({ id: 'task/agent', from: { folder: project } })
    fs.writeFileSync(join(workspace.path, 'work/new'), 'by the agent')
    settle(join(workspace.path, 'work'))
    const before = portrait(join(workspace.path, 'work'))
    const { trash } = await workspace.reset()
    expect(fs.existsSync(join(workspace.path, 'work/new'))).toBe(false)
    const back = await aw.undelete(trash[0]?.tree ?? '', { as: 'task/before' })
    expect(portrait(join(back.path, 'work'))).toBe(before)
  })
})

describe('only what aw made is touched', () => {
  test('a source is only read', async () => {
    const before = portrait(project)
    const workspace = await aw.create({ id: 'task/agent', from: { folder: project } })
    fs.appendFileSync(join(workspace.path, 'work/run.sh'), 'changed')
    fs.chmodSync(join(workspace.path, 'work/.env'), 0o644)
    await workspace.reset()
    await workspace.destroy({ purge: true })
    expect(portrait(project)).toBe(before)
  })

  test('something foreign at the path stays, and the name stays free', async () => {
    const path = join(folder, 'home/workspaces/task/agent')
    fs.mkdirSync(path, { recursive: true })
    fs.writeFileSync(join(path, 'mine'), 'mine')
    await expect(aw.create({ id: 'task/agent' })).rejects.toMatchObject({ code: 'file_exists' })
    expect(fs.readFileSync(join(path, 'mine'), 'utf8')).toBe('mine')
    expect(await aw.exists('task/agent')).toEqual({ exists: false })
  })

  test('a link that was pointed elsewhere is not removed, nor what it points to', async () => {
    const workspace = await aw.create({ id: 'task/agent' })
    fs.unlinkSync(workspace.path)
    fs.symlinkSync(project, workspace.path)
    const before = portrait(project)
    await workspace.destroy({ purge: true })
    expect(fs.readlinkSync(workspace.path)).toBe(project)
    expect(portrait(project)).toBe(before)
  })

  test('a tree that the log does not know is reported and kept', async () => {
    const unknown = join(folder, 'home/storage/volumes/unknown')
    await aw.create({ id: 'task/agent' })
    fs.mkdirSync(unknown)
    expect(await aw.recover()).toMatchObject({ orphans: ['volumes/unknown'] })
    expect(fs.existsSync(unknown)).toBe(true)
  })
})

describe('work in use stays', () => {
  test('rm -rf on the path removes a link; recover brings it back', async () => {
    const workspace = await aw.create({ id: 'task/agent', from: { folder: project } })
    execFileSync('rm', ['-rf', workspace.path])
    expect(await aw.recover()).toMatchObject({ relinked: ['task/agent'], lost: [] })
    expect(portrait(join(workspace.path, 'work'))).toBe(portrait(project))
  })

  test('a workspace that a process works in is destroyed only by those who say so', async () => {
    const workspace = await aw.create({ id: 'task/agent' })
    const agent = spawn('sleep', ['60'], { cwd: join(workspace.path, 'work'), stdio: 'ignore' })
    try {
      await expect(workspace.destroy()).rejects.toMatchObject({ code: 'workspace_active' })
      await expect(workspace.reset()).rejects.toMatchObject({ code: 'workspace_active' })
      expect(await workspace.destroy({ include_active: true })).toMatchObject({ removed: true })
    } finally {
      agent.kill()
    }
  })

  test('nothing is erased before its time', async () => {
    const workspace = await aw.create({ id: 'task/agent' })
    await workspace.destroy()
    expect(await aw.gc()).toMatchObject({ applied: true, items: [] })
    expect(await aw.gc({ plan: true, older_than: '0s' })).toMatchObject({ applied: false, items: [{}] })
    expect((await aw.undelete('task/agent')).id).toBe(workspace.id)
  })
})
