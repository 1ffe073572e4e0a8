import { afterEach, describe, expect, it } from 'vitest'
import type { EventStore } from '../../src/ports/event-store.ts'
import { appendContract } from './event-store/append.ts'
import { chainContract } from './event-store/chain.ts'
import { fencingContract } from './event-store/fencing.ts'
import { followContract } from './event-store/follow.ts'
import { latestContract } from './event-store/latest.ts'
import { leaseContract } from './event-store/leases.ts'
import { propertyContract } from './event-store/properties.ts'
import { readModelContract } from './event-store/read-model.ts'
import { spaceContract } from './event-store/space.ts'

/** Gives a test a store of its own, empty but for what the store writes about itself. */
export type OpenStore = () => Promise<EventStore>

/** Everything `ports/event-store.ts` promises, for any store. */
export function eventStoreContract(name: string, makeStore: OpenStore): void {
  describe(`event store: ${name}`, () => {
    const stores: EventStore[] = []
    const open: OpenStore = async () => {
      const store = await makeStore()
      stores.push(store)
      return store
    }
    afterEach(async () => {
      for (const store of stores.splice(0)) await store[Symbol.asyncDispose]()
    })

    it('says its name', async () => {
      expect((await open()).name).toBe(name)
    })
    describe('append', () => {
      appendContract(open)
    })
    describe('fencing', () => {
      fencingContract(open)
    })
    describe('read model', () => {
      readModelContract(open)
    })
    describe('space', () => {
      spaceContract(open)
    })
    describe('leases', () => {
      leaseContract(open)
    })
    describe('latest time', () => {
      latestContract(open)
    })
    describe('follow', () => {
      followContract(open)
    })
    describe('chain', () => {
      chainContract(open)
    })
    describe('properties', () => {
      propertyContract(open)
    })
  })
}
