import { constants, openSync } from 'node:fs'
import { bridgeSocket } from '../../domain/network/bridge.ts'

/**
 * Where this process finds the daemon's socket from now on, whoever it becomes and however long the path of the home is:
 * the way leads over a descriptor of its directory, which stays open. The socket may be that of a later daemon.
 */
export const openBridge = (directory: string): string =>
  socketIn(openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY))

export const socketIn = (directory: number): string => `/proc/self/fd/${directory}/${bridgeSocket}`
