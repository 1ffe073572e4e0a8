import { hostStorageContract } from '../../src/testing/storage-contract.ts'
import { subjects } from './subjects.ts'

hostStorageContract('overlay', subjects.overlay)
