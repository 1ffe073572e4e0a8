import { at, type Name } from '../safe-fs/descriptors.ts'

/** Names as bytes, one character each (latin1): no name is lost, and their order is that of the bytes. */

const beyondAscii = /[\x80-\xff]/

export const isAscii = (name: string): boolean => !beyondAscii.test(name)

export const nodeName = (name: string): Name => (isAscii(name) ? name : Buffer.from(name, 'latin1'))

/** What Node is given to reach a name in an open directory; with '' the directory itself. */
export const atBytes = (directory: number, name: string): string | Buffer => at(directory, nodeName(name))
