import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The nearest folder above this module that is a package: of the sources, or of what was built from them. */
export function packageFolder(): string {
  const url = import.meta.url
  let folder = dirname(url.startsWith('file:') ? fileURLToPath(url) : url)
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}
