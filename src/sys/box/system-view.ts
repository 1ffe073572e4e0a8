import { lstatSync, readlinkSync } from 'node:fs'

/** What of the host's system a box sees, all of it read-only. */

/** As arguments of bubblewrap: /usr, and /bin and the like as the host has them, links or directories. */
export const systemArguments = (): string[] => [
  '--ro-bind',
  '/usr',
  '/usr',
  ...topLevel.flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats?.isSymbolicLink()) return ['--symlink', readlinkSync(path), path]
    return stats?.isDirectory() ? ['--ro-bind', path, path] : []
  }),
  '--perms',
  '0755',
  '--dir',
  '/etc',
  ...etc.flatMap((path) => ['--ro-bind-try', path, path]),
]

/** The same as paths, for a level that only forbids. */
export const systemPaths = (): string[] => ['/usr', ...topLevel, ...etc, '/etc/passwd', '/etc/group', '/etc/hosts']

const topLevel = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** What programs need to find libraries, certificates, names and the time; nothing of users, services or secrets. */
const etc = [
  '/etc/alternatives',
  '/etc/bash.bashrc',
  '/etc/ca-certificates',
  '/etc/ca-certificates.conf',
  '/etc/crypto-policies',
  '/etc/debian_version',
  '/etc/inputrc',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/locale.alias',
  '/etc/localtime',
  '/etc/magic',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/os-release',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/profile',
  '/etc/protocols',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/terminfo',
  '/etc/timezone',
]
