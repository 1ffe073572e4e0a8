import { hostStorageContract } from '../contracts/storage.ts'
import { subjects } from './subjects.ts'

hostStorageContract('btrfs', subjects.btrfs)
