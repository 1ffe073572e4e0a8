import { expect, it } from 'vitest'
import type { OpenStore } from '../event-store.ts'
import { creation, newId } from '../../support/sample-events.ts'

const year = (n: number): string => new Date(Date.UTC(n, 0)).toISOString()

export function latestContract(open: OpenStore): void {
  it('tells the latest time that was noted, whatever comes after it', async () => {
    const store = await open()
    await store.passed(year(2090))
    await store.passed(year(2080))
    expect(await store.latest()).toBe(year(2090))
    await store.append(newId('ws'), 0, [creation('one').intent])
    expect(await store.latest()).toBe(year(2090))
    await store.passed(year(2091))
    expect(await store.latest()).toBe(year(2091))
  })

  it('takes the time of events and checkpoints for it, too, also if earlier ones come later', async () => {
    const store = await open()
    await store.append(newId('ws'), 0, [{ ...creation('one').intent, at: year(2070) }])
    expect(await store.latest()).toBe(year(2070))
    await store.append(newId('ws'), 0, [creation('two').intent])
    expect(await store.latest()).toBe(year(2070))
    await store.seal(year(2075))
    expect(await store.latest()).toBe(year(2075))
  })
}
