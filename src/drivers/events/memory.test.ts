import { eventStoreContract } from '../../testing/event-store-contract.ts'
import { memoryEvents } from './memory.ts'

eventStoreContract('memory', async () => memoryEvents())
