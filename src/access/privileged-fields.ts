import type { Operation } from '../api/operation.ts'
import { namesHostResource } from '../api/host-fields.ts'
import { AwError } from '../domain/errors.ts'

/** Fields with which one would choose walls, limits or secrets for oneself, or erase for good. */
const privilegedFields = [
  'isolation',
  'network',
  'allow',
  'shared',
  'agent',
  'mcp',
  'memory_mb',
  'cpu_percent',
  'processes',
  'open_files',
  'file_size_mb',
  'purge',
  'all',
]

const privilegedConfigKeys = ['max_size_mb', 'allowed_operations']

/**
 * What only the user of the machine may ask for. A token for less is refused, and not held to something less: whoever
 * asked for it would believe to have it. A filter that is called `agent` or `all` is none of these.
 */
export function assertNoPrivilegedFields({ name, kind, input: { properties = {} } }: Operation, input: object): void {
  if (kind === 'read') return
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined || value === false) continue
    const setting =
      field === 'config' ? privilegedConfigKeys.find((key) => Object.hasOwn(value as object, key)) : undefined
    if (setting !== undefined) throw adminOnly(name, setting, false)
    const isHost = namesHostResource(properties[field]) && value !== 'empty'
    if (!isHost && !privilegedFields.includes(field)) continue
    throw adminOnly(name, field, isHost)
  }
}

const adminOnly = (name: string, field: string, isHost: boolean): AwError =>
  new AwError('permission_denied', `${field} of ${name} may be given only with the scope admin`, {
    hint: isHost ? 'It names something of the machine' : 'Leave it out: what the home is set to applies',
    data: { field, scope: 'admin' },
  })
