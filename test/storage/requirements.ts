import { isRoot } from '../contracts/storage/host.ts'
import type { FileSystem } from './on-image.ts'
import type { HostDriver } from './subjects.ts'

export interface Requirement {
  readonly driver: HostDriver
  readonly fileSystem: FileSystem
  readonly as: 'root' | 'an ordinary user'
}

const asRoot: readonly Requirement[] = [
  { driver: 'dir', fileSystem: 'ext4', as: 'root' },
  { driver: 'dir', fileSystem: 'ext4', as: 'an ordinary user' },
  { driver: 'dir', fileSystem: 'xfs', as: 'an ordinary user' },
  { driver: 'btrfs', fileSystem: 'btrfs', as: 'root' },
  { driver: 'btrfs', fileSystem: 'btrfs', as: 'an ordinary user' },
  { driver: 'overlay', fileSystem: 'ext4', as: 'root' },
  { driver: 'overlay', fileSystem: 'xfs', as: 'root' },
]

/** Which drivers must keep the contract on which file systems. Only root can make and mount these. */
export const requirements = isRoot ? asRoot : []
