/** The real program on a socket of ours, as a supervisor starts it, and what it is asked. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ProxyLimits } from '../../../src/drivers/sandbox/proxy/limits.ts'
import type { LogEntry } from '../../../src/drivers/sandbox/proxy/log.ts'
import { proxyCommand } from '../../../src/drivers/sandbox/proxy/program.ts'
import { settingsText, type ProxySettings } from '../../../src/drivers/sandbox/proxy/settings.ts'

/** Whom it becomes when root runs the tests. */
export const proxyUser = process.getuid?.() === 0 ? 699_999_876 : undefined

export interface Place extends AsyncDisposable {
  readonly port: number
  readonly child: ChildProcess
  /** All lines so far. */
  lines(): LogEntry[]
  logText(): string
  /** Those of requests that are over, once there are so many. */
  ended(count: number): Promise<LogEntry[]>
  /** Writes bytes to the proxy and reads all that comes until it closes. */
  ask(bytes: string | Buffer): Promise<string>
  open(): Promise<Socket>
  rssKb(): number
}

export async function startProxy(
  allow: readonly string[],
  limits: Partial<ProxyLimits> = {},
  command = proxyCommand(),
  more: Pick<ProxySettings, 'brokers' | 'authorities'> = {},
): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-proxy-'))
  const settings = join(folder, 'settings.json')
  writeFileSync(settings, settingsText({ workspace: 'task/agent', allow, limits, user: proxyUser, ...more }), {
    mode: 0o400,
  })
  const logFile = join(folder, 'network.log')
  const log = openSync(logFile, 'wx', 0o600)
  const listener = createServer()
  await listen(listener)
  const { port } = listener.address() as AddressInfo
  const { fd } = (listener as unknown as { _handle: { fd: number } })._handle
  const [program = '', ...args] = command
  const child = spawn(program, [...args, settings], { stdio: ['pipe', 'inherit', 'inherit', fd, log], env: {} })
  // From now on only the program accepts.
  listener.close()
  closeSync(log)

  const logText = (): string => readFileSync(logFile, 'latin1')
  const lines = (): LogEntry[] =>
    logText()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogEntry)
  const over = (): LogEntry[] => lines().filter(({ verdict, reason }) => verdict !== undefined && reason !== 'open')
  const open = async (): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  return {
    port,
    child,
    lines,
    logText,
    async ended(count) {
      await expect.poll(() => over().length, { timeout: 30_000, interval: 20 }).toBeGreaterThanOrEqual(count)
      return over()
    },
    async ask(bytes) {
      const socket = await open()
      socket.write(bytes)
      return readAll(socket)
    },
    open,
    rssKb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Until the other side has ended or reset the connection. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}

/** Reads until the text is there, and answers all that came. */
export async function readUntil(socket: Socket, wanted: string): Promise<string> {
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1')
    if (text.includes(wanted)) return text
  }
  throw new Error(`It ended before ${wanted}: ${text}`)
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A server that is gone with everything on it at the end. */
export async function upstream(server: Server): Promise<{ port: number; server: Server } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)))
  const port = await listen(server)
  return {
    port,
    server,
    async [Symbol.asyncDispose]() {
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])
export const reasonOf = (answer: string): string => /^X-Aw-Reason: (\w+)/m.exec(answer)?.[1] ?? ''

/** What a host that echoes has been asked. */
export const seen = (answer: string): { method: string; url: string; raw: string[]; body: string } =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as ReturnType<typeof seen>
