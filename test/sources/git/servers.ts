import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { createServer as createSocket, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from './fixture.ts'

/** Servers for git on this machine: https with git's own CGI program, and ssh. */

export interface HttpsServer {
  /** `https://localhost:port` */
  readonly site: string
  readonly certificate: string
  /** How often a path that matches was asked for. */
  count(pattern: RegExp): number
}

export interface HttpsOptions {
  /** The directory whose repositories are served. */
  readonly directory: string
  readonly password?: { readonly user: string; readonly password: string }
  /** Answers a request in the place of git. False leaves it to git. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Settings of the serving git. */
  readonly settings?: Readonly<Record<string, string>>
  /** What the client may say about the protocol; without it only the old one is spoken. */
  readonly newProtocol?: boolean
}

export async function serveHttps(place: Place, options: HttpsOptions): Promise<HttpsServer> {
  const [key, certificate] = [place.path('key.pem'), place.path('certificate.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', [...kind, '-keyout', key, '-out', certificate, ...subject], { stdio: 'ignore' })
  const asked: string[] = []
  const server = createServer(
    { key: fs.readFileSync(key), cert: fs.readFileSync(certificate) },
    (request, response) => {
      asked.push(`${request.method} ${request.url}`)
      if (options.answer?.(request, response)) return
      if (!isLetIn(request, options)) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end('no entry')
      } else serveGit(place, request, response, options)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  place.onLeave(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    site: `https://localhost:${port}`,
    certificate,
    count: (pattern) => asked.filter((line) => pattern.test(line)).length,
  }
}

function isLetIn(request: IncomingMessage, { password }: HttpsOptions): boolean {
  if (password === undefined) return true
  const expected = Buffer.from(`${password.user}:${password.password}`).toString('base64')
  return request.headers.authorization === `Basic ${expected}`
}

function serveGit(place: Place, request: IncomingMessage, response: ServerResponse, options: HttpsOptions): void {
  const url = new URL(request.url ?? '/', 'https://localhost')
  const settings = Object.entries({ 'safe.directory': '*', ...options.settings })
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      HOME: place.path('maker'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: String(settings.length),
      ...Object.fromEntries(
        settings.flatMap(([key, value], n) => [
          [`GIT_CONFIG_KEY_${n}`, key],
          [`GIT_CONFIG_VALUE_${n}`, value],
        ]),
      ),
      GIT_PROJECT_ROOT: options.directory,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      ...(options.newProtocol === false ? {} : { GIT_PROTOCOL: String(request.headers['git-protocol'] ?? '') }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => undefined)
  response.on('close', () => child.kill('SIGKILL'))
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) {
      response.write(chunk)
      return
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    const headers = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(': ', 2))
    const fields = Object.fromEntries(headers) as Record<string, string>
    response.writeHead(Number.parseInt(fields['Status'] ?? '200', 10), fields)
    response.write(head.subarray(end + 4))
    head = undefined
  })
  child.stdout.on('end', () => response.end())
}

export interface SshServer {
  readonly port: number
  /** `ssh://user@127.0.0.1:port` */
  readonly site: string
  /** A key that it lets in. */
  readonly key: string
  readonly knownHosts: string
  /** A configuration for the client, with more lines. */
  clientConfig(...lines: string[]): string
}

/** As root: it lets in root, by the key, and runs whatever is asked for. */
export async function serveSsh(place: Place): Promise<SshServer> {
  const directory = place.path('ssh')
  fs.mkdirSync(directory, { mode: 0o700 })
  const makeKey = (name: string): string => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', join(directory, name)])
    return join(directory, name)
  }
  const [hostKey, key] = [makeKey('host'), makeKey('user')]
  const port = await freePort()
  const config = join(directory, 'sshd_config')
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${key}.pub`,
    `PidFile ${join(directory, 'pid')}`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'AcceptEnv GIT_PROTOCOL',
    'MaxStartups 200',
    'MaxSessions 200',
  ]
  fs.writeFileSync(config, `${lines.join('\n')}\n`)
  const separation = '/run/sshd'
  if (!fs.existsSync(separation)) {
    fs.mkdirSync(separation, { mode: 0o755 })
    place.onLeave(() => fs.rmSync(separation, { recursive: true, force: true }))
  }
  const server = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', config], { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.on('exit', resolve))
  place.onLeave(() => (server.kill('SIGTERM'), ended))
  const knownHosts = join(directory, 'known_hosts')
  const hostLine = fs.readFileSync(`${hostKey}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')
  fs.writeFileSync(knownHosts, `[127.0.0.1]:${port} ${hostLine}\n`)
  let made = 0
  const clientConfig = (...more: string[]): string => {
    const path = join(directory, `config-${++made}`)
    const common = ['Host *', `UserKnownHostsFile ${knownHosts}`, 'GlobalKnownHostsFile /dev/null', 'BatchMode yes']
    fs.writeFileSync(path, `${[...common, ...more].join('\n')}\n`)
    return path
  }
  await listening(port)
  return { port, site: `ssh://root@127.0.0.1:${port}`, key, knownHosts, clientConfig }
}

async function freePort(): Promise<number> {
  const socket = createSocket()
  await new Promise<void>((resolve) => socket.listen(0, '127.0.0.1', resolve))
  const { port } = socket.address() as AddressInfo
  await new Promise((resolve) => socket.close(resolve))
  return port
}

async function listening(port: number): Promise<void> {
  for (let left = 400; left > 0; left--) {
    const tcp = fs.readFileSync('/proc/net/tcp', 'utf8')
    if (tcp.includes(`0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`)) return
    await sleep(25)
  }
  throw new Error('sshd does not listen')
}
