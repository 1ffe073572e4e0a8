import { lstatSync, readlinkSync } from 'node:fs'

/** What of the host's system a box sees, all of it read-only. */

/** As arguments of bubblewrap: links as links, which cost nothing; all else is mounted. */
export const systemArguments = (): string[] => [
  '--ro-bind',
  '/usr',
  '/usr',
  ...topLevel.flatMap(asItIs),
  '--perms',
  '0755',
  '--dir',
  '/etc',
  ...etc.flatMap(asItIs),
]

/** The same as paths, for a level that only forbids. */
export const systemPaths = (): string[] => ['/usr', ...topLevel, ...etc, '/etc/passwd', '/etc/group', '/etc/hosts']

function asItIs(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return []
  if (!stats.isSymbolicLink()) return ['--ro-bind', path, path]
  const target = readlinkSync(path)
  // One that leads elsewhere than to /usr, which is there, stands for what it leads to.
  return /^(?:\.\.\/|\/)?usr\//.test(target) ? ['--symlink', target, path] : ['--ro-bind-try', path, path]
}

const topLevel = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/**
 * What programs need to find libraries, certificates, names and the time; nothing of users, services or secrets. Each is a
 * mount that every start pays for.
 */
const etc = [
  '/etc/alternatives',
  '/etc/crypto-policies',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/os-release',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/protocols',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
]
