import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Is the file younger than all of these files and everything below these folders? A missing one is not. */
export async function isYounger(file: string, than: readonly string[]): Promise<boolean> {
  const built = await stat(file).catch(() => undefined)
  if (!built) return false
  const ages = await Promise.all(than.map(youngest))
  return built.mtimeMs > Math.max(...ages)
}

/** A folder's own time counts too: it moves when a file below it is removed. */
async function youngest(path: string): Promise<number> {
  const own = await stat(path)
  if (!own.isDirectory()) return own.mtimeMs
  const below = await Promise.all((await readdir(path)).map((name) => youngest(join(path, name))))
  return Math.max(own.mtimeMs, ...below)
}
