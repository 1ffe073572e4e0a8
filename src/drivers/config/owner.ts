import type { Config } from '../../domain/config/config.ts'
import { AwError } from '../../domain/errors.ts'
import { hasId } from '../../sys/processes/ids.ts'

const key = 'workspaces.uid'

/**
 * Whom the trees of a home belong to, if not the user of this process: only root can give them to another. One who is
 * root nowhere but in a user namespace of an ordinary user has nobody to give them to.
 */
export function treeOwner({ settings, origins }: Config): number | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = settings[key]
  if (hasId(owner)) return owner
  if (origins[key] === 'default') return undefined
  throw new AwError(
    'invalid_config',
    `${key} is ${owner} (${origins[key]}): there is no such user id in this namespace`,
    {
      hint: 'See which there are in /proc/self/uid_map and /proc/self/gid_map',
      data: { key, origin: origins[key] },
    },
  )
}
