import { storageContract } from '../../src/testing/storage-contract.ts'
import { subjects } from './subjects.ts'

storageContract('overlay', subjects.overlay)
