import { AwError } from '../errors.ts'

/**
 * Where a repository is, from what a user wrote: https, ssh (`ssh://` or `user@host:path`) or an absolute path of this
 * machine. Everything else is refused: other transports can run programs (`ext::`, `fd::`), are open to anyone on the
 * way (`http:`, `git:`), or are a path in disguise (`file:`), and what starts with a dash git takes for an option.
 */
export type GitUrl = RemoteUrl | { readonly kind: 'path'; readonly clean: string }

export interface RemoteUrl {
  readonly kind: 'https' | 'ssh'
  /** As it is recorded, shown and given to git: without credentials. Of an ssh url the user's name is kept. */
  readonly clean: string
  /** What was in an https url before the host; null if nothing was. */
  readonly credentials: GitCredentials | null
}

export interface GitCredentials {
  /** `https://host` or `https://host:port`: nobody else is told them. */
  readonly site: string
  readonly user: string
  /** Null if only a name was given: the password then comes from the user's own helpers. */
  readonly password: string | null
}

export function parseGitUrl(text: unknown): GitUrl {
  if (typeof text !== 'string' || text === '') throw refused('A repository is named by a url or an absolute path')
  if (text.length > maxLength) throw refused(`The url is longer than ${maxLength} characters`)
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) throw refused('The url holds a control character')
  if (text.startsWith('-')) throw refused('The url starts with a dash')
  if (text.startsWith('/')) return { kind: 'path', clean: withoutTrailingSlashes(text) || '/' }
  if (/[\s\\]/.test(text)) throw refused('The url holds a space or a backslash')
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text) ?? []
  if (scheme?.toLowerCase() === 'https') return httpsUrl(rest)
  if (scheme?.toLowerCase() === 'ssh') return sshUrl(rest)
  if (scheme?.toLowerCase() === 'file')
    throw refused('A repository of this machine is named by its path, without file://')
  const short = scheme === undefined ? scpLike.exec(text)?.groups : undefined
  if (short === undefined) throw refused('The url is not https, ssh or an absolute path')
  return shortUrl(short['user'] ?? '', short['host'] ?? '', short['path'] ?? '')
}

/** Whether it is one as they are recorded. */
export function isCleanGitUrl(text: string): boolean {
  try {
    return parseGitUrl(text).clean === text
  } catch {
    return false
  }
}

const maxLength = 2048
const scpLike = /^(?<user>[^@:/]+)@(?<host>\[[^\]]*\]|[^:/[\]]+):(?<path>.+)$/

function httpsUrl(rest: string): RemoteUrl {
  const { userinfo, host, port, path } = parts(rest, 443)
  const site = `https://${host}${port}`
  return { kind: 'https', clean: site + path, credentials: credentialsIn(userinfo, site) }
}

function sshUrl(rest: string): RemoteUrl {
  const { userinfo, host, port, path } = parts(rest, 22)
  const user = userinfo?.split(':')[0]
  if (user !== undefined) checkUser(user)
  return { kind: 'ssh', clean: `ssh://${user === undefined ? '' : `${user}@`}${host}${port}${path}`, credentials: null }
}

function shortUrl(user: string, host: string, path: string): RemoteUrl {
  checkUser(user)
  checkPath(path)
  if (path.startsWith('-')) throw refused('The path in the url starts with a dash')
  return { kind: 'ssh', clean: `${user}@${checkedHost(host)}:${withoutTrailingSlashes(path)}`, credentials: null }
}

function parts(rest: string, standardPort: number) {
  const found = /^(?:(?<userinfo>[^@/]*)@)?(?<host>\[[^\]]*\]|[^:/@[\]]+)(?::(?<port>[^/]*))?(?<path>\/.*)$/.exec(rest)
  if (found?.groups === undefined) throw refused('The url needs a host and a path')
  const { userinfo, host = '', port, path = '' } = found.groups
  checkPath(path)
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
    throw refused('The port in the url is not a number from 1 to 65535')
  }
  const shownPort = port === undefined || Number(port) === standardPort ? '' : `:${Number(port)}`
  return { userinfo, host: checkedHost(host), port: shownPort, path: withoutTrailingSlashes(path) }
}

function checkedHost(host: string): string {
  const isName = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?$/i.test(host) && !host.includes('..') && host.length < 254
  if (!isName && !/^\[[0-9a-f:.]+\]$/i.test(host)) throw refused('The host in the url is not a name or an address')
  return host.toLowerCase()
}

function checkUser(user: string): void {
  if (!/^[a-z0-9_][a-z0-9._+-]*$/i.test(user)) throw refused('The user in the url is not a plain name')
}

function checkPath(path: string): void {
  // A query belongs to no repository, but may hold a token, which would be recorded with the url.
  if (/[?#]/.test(path)) throw refused('The url holds a query or a fragment')
  if (/^\/*$/.test(path)) throw refused('The url names no repository')
  decoded(path)
}

function credentialsIn(userinfo: string | undefined, site: string): GitCredentials | null {
  if (userinfo === undefined || userinfo === '') return null
  const colon = userinfo.indexOf(':')
  if (colon === -1) return { site, user: decoded(userinfo), password: null }
  return { site, user: decoded(userinfo.slice(0, colon)), password: decoded(userinfo.slice(colon + 1)) }
}

/** What an encoded text says. A line break in it would end git's question to a helper and begin another. */
function decoded(text: string): string {
  let plain: string
  try {
    plain = decodeURIComponent(text)
  } catch {
    throw refused('The url is not encoded properly')
  }
  if (/\p{Cc}/u.test(plain)) throw refused('The url holds an encoded control character')
  return plain
}

const withoutTrailingSlashes = (text: string): string => text.replace(/\/+$/, '')

/** It does not repeat the url: it may hold a password where nobody expects one. */
const refused = (why: string): AwError =>
  new AwError('invalid_input', `That is not a repository that can be used: ${why}`, {
    hint: 'Give https://host/path, ssh://user@host/path, user@host:path, or the absolute path of a repository',
  })
