import { hostStorageContract } from '../../src/testing/storage-contract.ts'
import { subjects } from './subjects.ts'

hostStorageContract('btrfs', subjects.btrfs)
