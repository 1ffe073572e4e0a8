/**
 * Makes a clone as a process of its own.
 *   git-clone.ts ROOT URL REF SHALLOW INTO...   REF `-` is the default branch; all at once; prints what was made
 */
import { toAwError } from '../../../src/domain/errors.ts'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'

const [root = '', url = '', ref = '-', shallow = 'true', ...targets] = process.argv.slice(2)
const repositories = gitRepositories({ root, avoid: [] })

async function clone(into: string): Promise<unknown> {
  try {
    const resolved = await repositories.resolve({ url, ref: ref === '-' ? null : ref })
    return await repositories.clone({ url, resolved, shallow: shallow === 'true', into })
  } catch (error) {
    return { error: toAwError(error) }
  }
}

console.log(JSON.stringify(await Promise.all(targets.map(clone))))
