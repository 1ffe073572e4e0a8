import { join } from 'node:path'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { NetworkRequest, Requests } from '../../ports/requests.ts'
import { durableFile, readIfPresent } from '../../sys/fs/durable-file.ts'

type Line = NetworkRequest & { readonly id?: number }

/**
 * One file for each workspace, which its owner alone can read; what it grew to before is beside it, put there by whoever
 * starts the proxy. A request that is over has two lines, or one.
 */
export function dirRequests({ directory }: { directory: string }): Requests {
  const place = (id: WorkspaceId): string => join(directory, `${id}.log`)
  const aside = (id: WorkspaceId): string => `${place(id)}.1`
  return {
    place,
    async read(id, limit) {
      const last = requestsIn(readIfPresent(place(id)))
      if (last.size >= limit) return [...last.values()].slice(-limit)
      const found = requestsIn(readIfPresent(aside(id)))
      for (const [key, request] of last) {
        found.delete(key)
        found.set(key, request)
      }
      return [...found.values()].slice(-limit)
    },
    async remove(id) {
      durableFile.remove(aside(id))
      durableFile.remove(place(id))
    },
  }
}

function requestsIn(text = ''): Map<string, NetworkRequest> {
  const found = new Map<string, NetworkRequest>()
  for (const line of text.split('\n')) {
    const entry = parsed(line)
    if (entry === undefined) continue
    const { time, method, host, port, verdict, reason, up, down, ms } = entry
    const key = `${time} ${entry.id}`
    // The later line of a request tells how it ended.
    found.delete(key)
    found.set(key, { time, method, host, port, verdict, reason, up, down, ms })
  }
  return found
}

/** A line that a full disk cut off is none. */
function parsed(line: string): Line | undefined {
  try {
    const entry = JSON.parse(line) as Partial<Line> | null
    return typeof entry?.verdict === 'string' ? (entry as Line) : undefined
  } catch {
    return undefined
  }
}
