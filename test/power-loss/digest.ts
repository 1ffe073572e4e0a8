import { createHash } from 'node:crypto'
import { readTree } from '../support/tree.ts'

/** Of all that is work in a tree, times included. */
export const digestOf = (tree: string): string =>
  createHash('sha256')
    .update(JSON.stringify(readTree(tree, { times: true, except: ['.aw'] })))
    .digest('hex')
    .slice(0, 16)
