import type { IdempotencyStore, RequestNote, StoredAnswer } from '../../src/ports/idempotency-store.ts'

/** Answers that are kept as long as the process lives. */
export function memoryIdempotencyStore(): IdempotencyStore {
  const records = new Map<string, { note: RequestNote; answer?: StoredAnswer; at: Date }>()
  return {
    async begin(key, note) {
      const known = records.get(key)
      if (known?.answer !== undefined) return { state: 'done', note: known.note, answer: known.answer }
      if (known !== undefined) return { state: 'open', note: known.note }
      records.set(key, { note, at: new Date() })
      return { state: 'new' }
    },
    async finish(key, answer) {
      const known = records.get(key)
      if (known !== undefined) records.set(key, { ...known, answer })
    },
    async forget(key) {
      records.delete(key)
    },
    async sweep(before) {
      const old = [...records].filter(([, { at }]) => at < before)
      for (const [key] of old) records.delete(key)
      return old.length
    },
  }
}
