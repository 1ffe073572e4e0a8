import type { Requests } from '../../src/ports/requests.ts'

/** A machine in memory has no network. */
export const memoryRequests: Requests = {
  place: (id) => `/requests/${id}.log`,
  read: async () => [],
  remove: async () => undefined,
}
