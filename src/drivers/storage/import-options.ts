import { AwError } from '../../domain/errors.ts'
import type { ImportOptions, ImportSource } from '../../ports/storage-driver.ts'

/** A tree of our own has neither rules nor an index; the name of one can be that of a file. */
export function assertOptions(source: ImportSource, { exclude, ignored, index }: ImportOptions): void {
  const isPlain = exclude === undefined && ignored === undefined && index === undefined
  if ('place' in source && !isPlain)
    throw new AwError('invalid_input', 'Only of a folder can something be left out or remembered')
  for (const name of index === undefined ? [] : [index.name, index.since ?? index.name])
    if (!/^[a-z0-9-]+$/.test(name))
      throw new AwError('invalid_input', `"${name}" cannot name an index: small letters, digits and dashes can`)
}
