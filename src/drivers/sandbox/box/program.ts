import { accessSync, constants } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { fixes } from '../../../domain/sandbox/fixes.ts'
import { packageFolder } from '../../../sys/processes/package-folder.ts'

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
