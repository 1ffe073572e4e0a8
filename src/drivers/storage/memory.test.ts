import { memorySubject } from '../../testing/memory-subject.ts'
import { portableSuites, storageContract } from '../../testing/storage-contract.ts'

storageContract('memory', async () => memorySubject(), portableSuites)
