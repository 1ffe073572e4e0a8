import type { Outputs } from '../../api/table.ts'
import { configKeys, environmentVariableOf, type ConfigKey } from '../../domain/config/config.ts'
import type { Core } from '../core.ts'

export async function showConfig(core: Core): Promise<Outputs['config show']> {
  const { settings, origins } = core.config
  const from = (key: ConfigKey): string => {
    const origin = origins[key]
    if (origin === 'file') return core.configFile ?? 'file'
    return origin === 'environment' ? environmentVariableOf(key) : origin === 'flag' ? '--set' : 'default'
  }
  const keys = Object.keys(configKeys) as ConfigKey[]
  return {
    home: core.home,
    file: core.configFile ?? null,
    settings: keys.map((key) => ({ key, value: settings[key], from: from(key), about: configKeys[key].about })),
  }
}
