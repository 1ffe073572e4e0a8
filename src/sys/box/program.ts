import { accessSync, constants, existsSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AwError } from '../../domain/errors.ts'
import { fixes } from '../../domain/sandbox/fixes.ts'

let found: string | undefined

/**
 * The path of aw-box, the program at both ends of every sandbox, for this machine; it is in prebuilt/ of the package.
 * `sandbox_unenforceable` where there is none.
 */
export function boxProgram(): string {
  found ??= find()
  return found
}

function find(): string {
  const name = `prebuilt/${platform()}-${arch()}/aw-box`
  const path = join(packageFolder(), name)
  try {
    accessSync(path, constants.X_OK)
    return path
  } catch (cause) {
    throw new AwError('sandbox_unenforceable', `Sandboxes need a program that is not installed: ${name}`, {
      hint: fixes.box,
      data: { platform: platform(), arch: arch() },
      cause,
    })
  }
}

/** The nearest folder above this module that is a package: of the sources, or of what was built from them. */
function packageFolder(): string {
  const url = import.meta.url
  let folder = dirname(url.startsWith('file:') ? fileURLToPath(url) : url)
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}
