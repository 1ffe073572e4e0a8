import { AwError } from '../../../domain/errors.ts'
import type { Place } from '../../../ports/storage-driver.ts'

export const isFrozen = ({ area }: Place): boolean => area === 'snapshots' || area === 'bases'

export const missing = (place: Place): AwError =>
  new AwError(
    isFrozen(place) ? 'snapshot_not_found' : 'workspace_not_found',
    `There is no tree at ${place.area}/${place.name}`,
    { data: { place } },
  )

export const taken = (place: Place): AwError =>
  new AwError('file_exists', `There is already a tree at ${place.area}/${place.name}`, {
    hint: 'Run: aw recover',
    data: { place },
  })
