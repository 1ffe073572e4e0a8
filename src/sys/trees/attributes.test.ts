import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { native } from '../syscalls/native.ts'
import { attributesText, writeAttributes } from './attributes.ts'

const bytes = (text: string): string => Buffer.from(text).toString('latin1')

test('attributes are kept under any name, which need not be text', () => {
  const folder = fs.mkdtempSync(join(tmpdir(), 'aw-attributes-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
  const [one, other] = [join(folder, 'one'), join(folder, 'other')]
  for (const file of [one, other]) fs.writeFileSync(file, '')
  const names = ['user.plain', bytes('user.größe'), 'user.\xff\xfe', 'user.a=b,c %41'].toSorted()
  for (const [i, name] of names.entries()) native()?.lsetxattr(one, name, Buffer.from([i, 0, 255]))
  native()?.lsetxattr(other, 'user.\xfd', Buffer.from('goes'))
  const text = attributesText(one, 'anywhere')
  // As it was always written, where the name is text.
  expect(text).toContain(`${encodeURIComponent('user.größe')}=`)
  expect(text.split(',')).toHaveLength(4)
  writeAttributes(other, text, 'anywhere')
  expect(attributesText(other, 'anywhere')).toBe(text)
  expect(native()?.llistxattr(other).toSorted()).toEqual(names)
  expect(names.map((name) => native()?.lgetxattr(other, name)[0])).toEqual([0, 1, 2, 3])
})
