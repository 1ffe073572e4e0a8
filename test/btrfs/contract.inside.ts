import { everySuite, storageContract } from '../../src/testing/storage-contract.ts'
import { subject } from './mounted.ts'

storageContract('btrfs', async () => subject(), everySuite)
