import { chmodSync, closeSync, constants, openSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ensureDirectory } from '../fs/directories.ts'
import { openBridge, socketIn } from './bridge-socket.ts'

/**
 * Where the daemon listens for the proxies of sandboxes. Root's proxies are other users, and the home is closed to them:
 * each is given the directory as a descriptor while it is still root, and whoever has that gets to the socket in it. The
 * directory stays when a daemon ends, so the way leads to the next one too.
 */
export const bridgeDirectory = (home: string): string => join(home, 'bridge')

/** Makes the place, and takes away what a dead daemon left there; whoever calls it holds the lock of the daemon. */
export function prepareBridge(home: string): string {
  const directory = bridgeDirectory(home)
  ensureDirectory(directory, 0o711)
  chmodSync(directory, 0o711)
  const socket = openBridge(directory)
  rmSync(socket, { force: true })
  return socket
}

/** A token is asked for there. Nobody gets to it who neither may enter the home nor was given the directory. */
export const letProxiesIn = (socket: string): void => chmodSync(socket, 0o666)

export const closeBridge = (socket: string): void => rmSync(socket, { force: true })

/** Whether a daemon listens in a home. */
export async function hasBridge(home: string): Promise<boolean> {
  let directory: number
  try {
    directory = openSync(bridgeDirectory(home), constants.O_RDONLY | constants.O_DIRECTORY)
  } catch {
    return false
  }
  try {
    return await listensAt(socketIn(directory))
  } finally {
    closeSync(directory)
  }
}

const listensAt = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.setTimeout(answerMs)
    const say = (answer: boolean) => (): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', say(true)).once('error', say(false)).once('timeout', say(false))
  })

const answerMs = 2000
