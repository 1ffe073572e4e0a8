import * as fc from 'fast-check'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { type Edit, editHost } from '../../support/edits.ts'
import type { Opened } from './fixture.ts'

const name = fc.constantFrom('a', 'b', 'c', '\xff', 'a-')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const content = fc.constantFrom('', 'x', 'y', 'z'.repeat(5000), 'Z'.repeat(5000))
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ do: fc.constantFrom('write', 'append'), path, content }),
  fc.record({ do: fc.constantFrom('mkdir', 'remove', 'remove', 'fifo'), path }),
  fc.record({ do: fc.constant('rename'), path, to: path }),
  fc.record({ do: fc.constant('rename'), path, to: path }),
  fc.record({ do: fc.constant('link'), path, to: path }),
  fc.record({ do: fc.constant('symlink'), path, target: content.map((text) => `${text.slice(0, 9)}t`) }),
  fc.record({ do: fc.constant('chmod'), path, mode: fc.constantFrom(0o600, 0o755) }),
  fc.record({ do: fc.constant('truncate'), path, size: fc.constantFrom(0, 3, 9000) }),
  fc.record({ do: fc.constant('touch'), path, mtime: fc.constantFrom(1, 2) }),
)
export const anyEdits = fc.array(edit, { maxLength: 12 })

/** Many make no sense in the tree as it is; those are not done. */
export function live(opened: Opened, place: Place, all: readonly Edit[]): void {
  for (const one of all) {
    try {
      editHost(opened.path(place), one)
    } catch {
      continue
    }
  }
}
