import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A Node that is too old for us: the machine's own where it is old enough, else one that is put into the folder. */
export function oldNode(folder: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const own = folders.map((path) => join(path, 'node')).find((node) => isExecutable(node) && isOld(node))
  if (own) return own
  const name = `node-linux-${process.arch}`
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, `${name}@20`], { stdio: 'pipe' })
  return join(folder, 'node_modules', name, 'bin/node')
}

function isOld(node: string): boolean {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 18)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
