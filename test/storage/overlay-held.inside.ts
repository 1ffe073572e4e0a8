import { heldStorageContract } from '../contracts/storage.ts'
import { subjects } from './subjects.ts'

heldStorageContract('overlay', subjects.overlay)
