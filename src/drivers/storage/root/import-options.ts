import { AwError } from '../../../domain/errors.ts'
import type { ImportOptions, ImportSource, Place } from '../../../ports/storage-driver.ts'

/**
 * A tree of our own has neither rules nor an index. The name of an index can be that of a file, and is not that of a base
 * which is there: its index tells what it holds.
 */
export function assertOptions(
  source: ImportSource,
  { exclude, ignored, index }: ImportOptions,
  exists: (place: Place) => boolean,
): void {
  const isPlain = exclude === undefined && ignored === undefined && index === undefined
  if ('place' in source && !isPlain)
    throw new AwError('invalid_input', 'Only of a folder can something be left out or remembered')
  if (index === undefined) return
  for (const name of [index.name, index.since ?? index.name])
    if (!/^[a-z0-9-]+$/.test(name))
      throw new AwError('invalid_input', `"${name}" cannot name an index: small letters, digits and dashes can`)
  const base: Place = { area: 'bases', name: index.name }
  if (exists(base))
    throw new AwError('file_exists', `There is already a base ${index.name}`, {
      hint: 'Run: aw recover',
      data: { place: base },
    })
}
