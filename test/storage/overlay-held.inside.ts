import { heldStorageContract } from '../../src/testing/storage-contract.ts'
import { subjects } from './subjects.ts'

heldStorageContract('overlay', subjects.overlay)
