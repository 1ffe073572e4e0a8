import { toAwError } from '../../domain/errors.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import type { Core } from '../core.ts'

/** The store's own stream has no lock: whoever loses the race for a version tries the next. */
export async function appendHome(core: Core, ...events: readonly NewEvent[]): Promise<void> {
  for (let attempt = 0, version = 0; ; attempt++) {
    try {
      await core.store.append('home', version, events)
      return
    } catch (error) {
      const { code, data } = toAwError(error)
      if (code !== 'version_conflict' || attempt === 100) throw error
      version = Number(data['actual'])
    }
  }
}
