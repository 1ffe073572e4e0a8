import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import { ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { contentsOf, isListed, readIfWhole } from './manifest.ts'
import { openObjects } from './objects.ts'
import { clearIncoming, type Store, unlinkIfPresent } from './store.ts'

/**
 * Removes the contents that no manifest in the given directories refers to, and what crashes have left. Not now if
 * somebody adds to the store and does not end soon: what is left then goes with the next sweep.
 */
export async function sweep(store: Store, areas: readonly string[], signal?: AbortSignal): Promise<void> {
  using held = await store.alone()
  if (held === undefined) return
  await clearIncoming(store.root)
  await runCancellable(sweepSteps(store, areas), signal)
}

function* sweepSteps(store: Store, areas: readonly string[]): Coroutine<void> {
  const objects = openObjects(store.root)
  const unneeded = objects.all()
  if (unneeded.size === 0) return
  for (const file of manifestsIn(areas)) {
    const manifest = readIfWhole(file)
    // Nobody knows what a damaged one needs, so nothing can be said to be needed by none; `verify` tells of it.
    if (manifest === undefined && fs.existsSync(file)) return
    if (manifest) for (const content of contentsOf(manifest)) unneeded.delete(content)
    yield
  }
  if (unneeded.size === 0) return
  // Before the first goes: who remembers one of them must not rely on it.
  store.markSweep()
  for (const content of unneeded) {
    unlinkIfPresent(objects.path(content))
    yield
  }
}

/** Those that need contents. */
export const manifestsIn = (areas: readonly string[]): string[] =>
  areas.flatMap((area) =>
    fs
      .readdirSync(area)
      .map((name) => join(area, name))
      .filter((file) => ignoreErrors(['ENOENT'], () => isListed(file)) === false),
  )
