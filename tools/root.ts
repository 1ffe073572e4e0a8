import { dirname, join } from 'node:path'

export const root = dirname(import.meta.dirname)

export const inRoot = (path: string): string => join(root, path)
