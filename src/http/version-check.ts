import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from './refusal.ts'

/** What a daemon is: of which version, and with which settings. */
export type VersionStamps = Readonly<Record<'version' | 'config', string>>

/** A client that says what it expects (`Aw-Version`, `Aw-Config`) is not served by one that is something else. */
export function assertSameVersion(headers: IncomingHttpHeaders, stamps: VersionStamps | undefined): void {
  for (const [name, own] of Object.entries(stamps ?? {})) {
    const wanted = headers[`aw-${name}`]
    if (wanted !== undefined && wanted !== own)
      throw new Refusal(
        412,
        'daemon_unavailable',
        `The daemon was started with another ${name}`,
        'Start it anew: aw serve',
        {},
        { sent: false, differs: name },
      )
  }
}
