import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram } from '../processes/run.ts'
import { gitProgram } from './program.ts'

let base: string
const path = process.env['PATH']
const tree = (name = ''): string => join(base, 'tree', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-git-'))
  fs.mkdirSync(tree())
})
afterEach(() => {
  process.env['PATH'] = path
  fs.rmSync(base, { recursive: true, force: true })
})

/** A git that tells that it was run. */
function plant(directory: string): void {
  fs.mkdirSync(directory, { recursive: true })
  fs.writeFileSync(join(directory, 'git'), `#!/bin/sh\necho run > '${join(base, 'run')}'\n`, { mode: 0o755 })
}

describe('the program', () => {
  test.each(['.', '', 'bin', './bin', '../tree/bin'])('is not one of the tree, with %j in PATH', async (entry) => {
    for (const directory of ['', 'bin']) plant(tree(directory))
    const before = process.cwd()
    process.chdir(tree())
    try {
      process.env['PATH'] = `${entry}:${path}`
      await gitProgram([])()
    } finally {
      process.chdir(before)
    }
    expect(fs.existsSync(join(base, 'run'))).toBe(false)
  })

  test.each(['tree/bin', 'link', 'linked'])('is not one of a workspace, at %s', async (entry) => {
    plant(tree('bin'))
    fs.symlinkSync(tree('bin'), join(base, 'link'))
    fs.mkdirSync(join(base, 'linked'))
    fs.symlinkSync(tree('bin/git'), join(base, 'linked/git'))
    process.env['PATH'] = `${join(base, entry)}:${path}`
    await gitProgram([tree()])()
    expect(fs.existsSync(join(base, 'run'))).toBe(false)
  })

  test('is found where PATH says, and only if it can be run', () => {
    plant(join(base, 'one'))
    plant(join(base, 'two'))
    fs.chmodSync(join(base, 'one/git'), 0o644)
    fs.mkdirSync(join(base, 'zero/git'), { recursive: true })
    process.env['PATH'] = ['zero', 'missing', 'one', 'two'].map((name) => join(base, name)).join(':')
    expect(findProgram('git')).toBe(join(base, 'two/git'))
  })
})
