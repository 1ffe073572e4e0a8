import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { copyTree } from './tree.ts'
import { native } from '../syscalls/native.ts'

describe.each([
  ['with the program', false],
  ['without it', true],
])('attributes of overlays, %s', (_, alone) => {
  test.each([
    ['anywhere', 2],
    ['layer', 1],
    [undefined, 1],
  ] as const)('are in a copy where they mean nothing: %s', async (where, count) => {
    const base = fs.mkdtempSync(join(tmpdir(), 'aw-notes-'))
    onTestFinished(() => fs.rmSync(base, { recursive: true }))
    const [source, copy] = [join(base, 'source'), join(base, 'copy')]
    fs.mkdirSync(join(source, 'd'), { recursive: true })
    fs.writeFileSync(join(source, 'd/f'), '')
    for (const path of ['d', 'd/f'])
      for (const name of ['user.note', 'user.overlay.opaque'])
        native()?.lsetxattr(join(source, path), name, Buffer.from('y'))
    await copyTree(source, copy, { own: true, where, alone })
    for (const path of ['d', 'd/f']) expect(native()?.llistxattr(join(copy, path))).toHaveLength(count)
  })
})
