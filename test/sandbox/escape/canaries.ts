/** Things that the tests made themselves, outside, for attacks to lay hands on. */
import { randomBytes } from 'node:crypto'
import type { ChildProcess } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isRoot } from '../fixture.ts'
import type { Ground, Stage } from './attack.ts'
import { endGroup, startOnHost } from './host-run.ts'

export interface CanaryFile {
  readonly path: string
  /** What is in it, which nobody can know without reading it. */
  readonly secret: string
  /** It is gone, or something else is in it. */
  readonly touched: () => boolean
}

export function canaryFile({ outside, uid }: Ground, name = 'canary', mode = 0o644): CanaryFile {
  const path = join(outside, name)
  const secret = randomBytes(16).toString('hex')
  writeFileSync(path, secret, { mode })
  if (isRoot) chownSync(path, uid, uid)
  return { path, secret, touched: () => !existsSync(path) || readFileSync(path, 'latin1') !== secret }
}

/** Whether the attack brought it into the tree, where it is found from outside. */
export function isLooted({ own }: Ground, secret: string): boolean {
  const loot = join(own, 'loot')
  return existsSync(loot) && readFileSync(loot, 'latin1').includes(secret)
}

export interface CanaryProcess {
  readonly pid: number
  /** Of a number in it that is 0. */
  readonly address: string
  /** It has seen that its memory was changed. */
  readonly isHit: () => boolean
  /** Of a file that only it has open, as descriptor 9; also in its variables. */
  readonly secret: string
  /** On its command line, and on no other. */
  readonly word: string
}

/** A process of the same user that has nothing to do with the attack. */
export async function canaryProcess(stage: Stage, program = join(stage.tools, 'attack')): Promise<CanaryProcess> {
  const hitFile = join(stage.outside, 'hit')
  const file = canaryFile(stage, 'held-open', 0o600)
  // Its own marker: what the attack leaves is counted without it.
  const word = `canary-${randomBytes(6).toString('hex')}`
  const argv = [program, 'canary', word, hitFile, file.path]
  const child = startOnHost(stage.uid, argv, stage.outside, { env: { AW_CANARY: file.secret } })
  stage.defer(() => endGroup(child))
  const [pid = '', address = ''] = (await firstLine(child)).split(' ')
  return { pid: Number(pid), address, word, secret: file.secret, isHit: () => existsSync(hitFile) }
}

export interface Listener {
  readonly port: number
  /** What was sent to it says who it was. */
  readonly heard: (marker: string) => boolean
}

/** Somebody's service: a port of the host, a socket with a path, or an abstract one. */
export async function listener(stage: Stage, where: ListenOptions): Promise<Listener> {
  let text = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      socket.end('seen')
    })
  })
  server.listen(where)
  await once(server, 'listening')
  stage.defer(() => server.close())
  // As the attacker's own, so that no mode of the socket decides.
  if (isRoot && where.path !== undefined && !where.path.startsWith('\0')) chownSync(where.path, stage.uid, stage.uid)
  const address = server.address()
  return {
    port: typeof address === 'string' ? 0 : (address as AddressInfo).port,
    heard: (marker) => text.includes(marker),
  }
}

/** A service that takes datagrams, as one that resolves names. */
export async function datagrams(stage: Stage): Promise<Listener> {
  let text = ''
  const socket = createSocket('udp4')
  socket.on('message', (data, { port, address }) => {
    text += data.toString('latin1')
    socket.send('seen', port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  stage.defer(() => socket.close())
  return { port: socket.address().port, heard: (marker) => text.includes(marker) }
}

/** A program of the host that keeps something until it is ended, and says one line when it has it. */
export async function helper(stage: Stage, script: string, ...args: readonly string[]): Promise<string> {
  const child = startOnHost(stage.uid, ['/usr/bin/python3', '-c', script, ...args], stage.outside)
  stage.defer(() => endGroup(child))
  return firstLine(child)
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('it has no output')
  // Not its exit: what it said may be read later.
  const ended = once(child, 'close').then(([code, signal]) =>
    Promise.reject(new Error(`it ended with ${code ?? signal}`)),
  )
  const lines = createInterface({ input: child.stdout })
  const line = once(lines, 'line', { signal: AbortSignal.timeout(10_000) })
  const [text] = (await Promise.race([line, ended])) as [string]
  ended.catch(() => undefined)
  return text
}
