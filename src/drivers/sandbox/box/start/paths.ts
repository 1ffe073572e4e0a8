/** Where things are inside a `namespace` box. */
export const boxHostname = 'aw'
export const boxPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
export const initPath = '/run/aw/box'
export const filesPath = '/run/aw/files'
export const gitIgnorePath = '/etc/gitignore'

const mebibyte = 1024 * 1024

/** How much each file system in memory may hold. */
export const sizes = {
  tmp: 1024 * mebibyte,
  home: 1024 * mebibyte,
  shm: 256 * mebibyte,
  run: 16 * mebibyte,
} as const
