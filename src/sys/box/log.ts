import { join } from 'node:path'
import { hostFs } from '../host-fs.ts'

/** A new file in a box's directory, for what others write to it. */
export const openLog = (directory: string, name: string): number => hostFs.createSync(join(directory, name), 0o600)
