import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { inRoot } from '../tools/root.ts'

/**
 * What users install, in a folder of its own: dist/ may be made anew meanwhile. Built by another process, as this one must
 * stay small: its size slows spawn. Answers the command.
 */
export function packageIn(folder: string): string {
  for (const name of ['node_modules', 'package.json', 'prebuilt']) symlinkSync(inRoot(name), join(folder, name))
  execFileSync(process.execPath, [inRoot('tools/build.ts'), join(folder, 'dist')])
  return join(folder, 'dist/aw.cjs')
}
