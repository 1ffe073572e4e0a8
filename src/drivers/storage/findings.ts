import type { DriverName } from '../../domain/config/storage-drivers.ts'
import { toAwError } from '../../domain/errors.ts'
import type { StorageCapabilities } from '../../ports/storage-driver.ts'
import type { Finding } from '../../sys/home/inspect.ts'
import { openPoolLocation } from './pool/location.ts'
import { inspectPool } from './pool/report.ts'
import { readClaim } from './root/claim.ts'
import { driverHint, tryDriver, type DriverTrial } from './choose-driver.ts'
import { drivers, type StorageLocation, storageLock } from './registry.ts'

/** What `aw doctor` says about drivers: each is tried for real where this home keeps its trees. */
export async function storageFindings(place: StorageLocation): Promise<Finding[]> {
  const used = readClaim(place.claim)?.driver
  const names = Object.keys(drivers) as DriverName[]
  try {
    using where = openPoolLocation(place.home, place.root)
    using _ = await storageLock(where.lock)
    const findings: Finding[] = []
    for (const name of names) findings.push(finding(name, name === used, await tryDriver(place, name)))
    return [...findings, ...inspectPool(place.home, place.root)]
  } catch (error) {
    return [{ name: 'drivers', status: 'problem', message: toAwError(error).message, hint: null }]
  }
}

function finding(name: DriverName, used: boolean, { probe, capabilities }: DriverTrial): Finding {
  const label = used ? 'in use' : 'not in use'
  const about = capabilities === undefined ? '' : `; ${costs(capabilities)}`
  if (!probe.usable) {
    const message = `${label}, does not work here: ${probe.reasons.join('; ')}`
    return { name: `driver ${name}`, status: used ? 'warning' : 'info', message, hint: probe.hint ?? driverHint(name) }
  }
  const constant = capabilities?.fork === 'constant'
  const which = capabilities?.visibility === 'host' ? '' : ', if its agents all work in sandboxes'
  const other = !used && constant ? `A home without workspaces can have it${which}: aw init --storage ${name}` : null
  return {
    name: `driver ${name}`,
    status: used ? 'ok' : 'info',
    message: `${label}, works${about}`,
    hint: used && !constant ? `For constant time: ${driverHint('btrfs')}` : other,
  }
}

const words = { constant: 'constant time', changes: 'what has changed', linear: 'the whole tree' } as const

function costs({ snapshot, fork, visibility }: StorageCapabilities): string {
  const cost =
    snapshot === fork
      ? `a snapshot or a fork costs ${words[fork]}`
      : `a snapshot costs ${words[snapshot]}, a fork ${words[fork]}`
  return visibility === 'host' ? cost : `${cost}; workspaces have no path, they are seen inside sandboxes`
}
