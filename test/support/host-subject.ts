import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attachment, Place, StorageDriver } from '../../src/ports/storage-driver.ts'
import { editHost } from './edits.ts'
import type { StorageSubject } from '../contracts/storage.ts'
import { makeTree, readTree } from './tree.ts'

interface HostSubjectOptions {
  /** A directory of the test's own that holds the storage root; it is removed at the end. */
  readonly base: string
  readonly root: string
  readonly open: () => StorageDriver
  /** Goes to where a writable tree is, if it has no path of its own. */
  readonly look?: Look
  /** Before the directory is removed: unmounts what the driver has mounted, say. */
  readonly close?: () => void
}

export type Look = <T>(attachment: Attachment, use: (path: string) => T) => T

/** The subject for a driver whose writable trees are directories. */
export function hostSubject({ base, root, open, look, close }: HostSubjectOptions): StorageSubject {
  const storage = open()
  const at = <T>(place: Place, use: (path: string) => T): T => {
    const attachment = storage.attachment(place)
    return look === undefined ? use(attachment.path) : look(attachment, use)
  }
  let folders = 0
  return {
    storage,
    reopen: open,
    folder(tree) {
      const folder = join(base, `folder-${++folders}`)
      mkdirSync(folder)
      makeTree(folder, tree)
      return folder
    },
    editFolder: (folder, ...edits) => {
      for (const edit of edits) editHost(folder, edit)
    },
    read: (place) => at(place, (path) => readTree(path, { times: true })),
    write: (place, file, content) => at(place, (path) => writeFileSync(`${path}/${file}`, content)),
    edit: (place, ...edits) =>
      at(place, (path) => {
        for (const edit of edits) editHost(path, edit)
      }),
    unmount: () => rmSync(join(root, '.aw-storage')),
    [Symbol.dispose]: () => {
      close?.()
      removeAnything(base)
    },
  }
}

/** Also what is too deep for a path, or closed to its owner: Node's own removal ends there. */
function removeAnything(path: string): void {
  if (process.getuid?.() !== 0) execFileSync('chmod', ['-R', 'u+rwX', path])
  execFileSync('rm', ['-rf', path])
}
