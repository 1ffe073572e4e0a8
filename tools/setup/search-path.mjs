import { delimiter } from 'node:path'

/** Where system administration programs are, such as mkfs.ext4 and losetup. */
const administration = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** The folders of PATH, and those of administration programs if it lacks them: plain `su` leaves it without. */
export function searchPath() {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, ...administration.filter((folder) => !folders.includes(folder))]
}
