import type { Requests } from '../../ports/requests.ts'

/** A machine in memory has no network. */
export const memoryRequests: Requests = {
  place: (id) => `/requests/${id}.log`,
  read: async () => [],
  remove: async () => undefined,
}
