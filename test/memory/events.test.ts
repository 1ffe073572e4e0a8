import { eventStoreContract } from '../contracts/event-store.ts'
import { memoryEvents } from './events.ts'

eventStoreContract('memory', async () => memoryEvents())
