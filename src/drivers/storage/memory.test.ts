import { memorySubject } from '../../testing/memory-subject.ts'
import { storageContract } from '../../testing/storage-contract.ts'

storageContract('memory', async () => memorySubject())
