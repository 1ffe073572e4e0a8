import { hostStorageContract } from '../contracts/storage.ts'
import { subjects } from './subjects.ts'

hostStorageContract('dir', subjects.dir)
