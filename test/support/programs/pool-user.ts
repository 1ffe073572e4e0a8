/**
 * A process of its own that does one thing with a home and prints how it went.
 *   pool-user.ts HOME init|deinit OPTIONS
 *   pool-user.ts HOME call OPERATION INPUT
 */
import { pathToFileURL } from 'node:url'
import { toAwError } from '../../../src/domain/errors.ts'
import { inRoot } from '../../../tools/root.ts'

const [home = '', what, first = '{}', second = '{}'] = process.argv.slice(2)

/** The built library: it starts in a third of the time, and a sweep starts it again and again. */
const built = pathToFileURL(inRoot('dist/index.js')).href

async function answer(): Promise<unknown> {
  const { deinitHome, initHome } = (await import(built)) as typeof import('../../../src/index.ts')
  if (what === 'init') return initHome({ home, env: {}, ...(JSON.parse(first) as object) })
  if (what === 'deinit') return deinitHome({ home, env: {}, ...(JSON.parse(first) as object) })
  const { openManager } = await import('../../../src/aw.ts')
  await using manager = await openManager({ home, env: {} })
  return await manager.call(first as 'show', JSON.parse(second) as { id: string })
}

console.log(
  JSON.stringify(
    await answer().then(
      (result) => ({ result }),
      (error: unknown) => ({ error: toAwError(error) }),
    ),
  ),
)
