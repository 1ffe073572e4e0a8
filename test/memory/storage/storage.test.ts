import { memorySubject } from '../subject.ts'
import { storageContract } from '../../contracts/storage.ts'

storageContract('memory', async () => memorySubject())
