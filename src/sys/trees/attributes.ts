import { hasCode, ignoreErrors } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { native } from '../syscalls/native.ts'
import { refused } from '../safe-fs/read/xattr.ts'
import { unlockNamed } from './unlock.ts'

/**
 * Extended attributes, ACLs and file capabilities: what belongs to the content of a tree. Others under `security.` are
 * the machine's. Without system calls none can be read.
 */
const counts = (name: string, where: Where): boolean =>
  (/^(user|trusted)\./.test(name) && (where === 'anywhere' || !/^(user|trusted)\.overlay\./.test(name))) ||
  name.startsWith('system.posix_acl_') ||
  name === 'security.capability'

/** In a layer of an overlay, or what may become one, those of overlay are the kernel's, and say what it shows. */
export type Where = 'anywhere' | 'layer'

/** It may have gone meanwhile. */
const absent = [...refused.filter((code) => code !== 'EACCES'), 'ENOENT']

/**
 * Each with its value, in the order of names. The path leads to one name in an open directory; a link is not followed.
 * Who may not read something may see the names alone: as its owner we are allowed the rest for the moment, which the
 * kernel tells as a change.
 */
export function readAttributes(path: string | Buffer, where: Where): (readonly [string, Buffer])[] {
  const names = namesAt(path, where)
  try {
    return valuesAt(path, names, absent)
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error
  }
  using _ = ignoreErrors(['ENOENT'], () => unlockNamed(path, 0o400))
  return valuesAt(path, names, [...absent, 'EACCES'])
}

const valuesAt = (path: string | Buffer, names: readonly string[], without: readonly string[]) =>
  names.flatMap((name) => {
    const value = ignoreErrors(without, () => native()?.lgetxattr(path, name))
    return value === undefined ? [] : [[name, value] as const]
  })

/** As one text without blanks: equal if and only if they are; empty if there are none. */
export const attributesText = (path: string | Buffer, where: Where): string =>
  formatAttributes(readAttributes(path, where))

export const formatAttributes = (attributes: Iterable<readonly [string, Buffer]>): string =>
  [...attributes].map(([name, value]) => `${escaped(name)}=${value.toString('base64url')}`).join(',')

/** Makes them what the text says. What the process may not set stays as it is. */
export function writeAttributes(path: string | Buffer, text: string, where: Where): void {
  const wanted = new Map(text === '' ? [] : text.split(',').map(parse))
  for (const name of namesAt(path, where)) if (!wanted.has(name)) attempt(() => hostFs.lremovexattrSync(path, name))
  for (const [name, value] of wanted) attempt(() => hostFs.lsetxattrSync(path, name, value))
}

function parse(pair: string): readonly [string, Buffer] {
  const [name = '', value = ''] = pair.split('=')
  return [unescaped(name), Buffer.from(value, 'base64url')]
}

/** Names are bytes that need not be text: each that could be mistaken for something else by its number. */
const escaped = (name: string): string =>
  name.replaceAll(/[^\w.!~*'()-]/g, (byte) => `%${byte.codePointAt(0)?.toString(16).toUpperCase().padStart(2, '0')}`)

const unescaped = (name: string): string =>
  name.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))

const namesAt = (path: string | Buffer, where: Where): string[] => {
  const names = attempt(() => native()?.llistxattr(path)) ?? []
  return names.filter((name) => counts(name, where)).toSorted()
}

const attempt = <T>(call: () => T): T | undefined => ignoreErrors([...absent, 'EACCES'], call)
