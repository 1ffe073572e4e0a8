import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StorageDriver } from '../ports/storage-driver.ts'
import { editHost } from './edits.ts'
import type { StorageSubject } from './storage-contract.ts'
import { makeTree, readTree } from './tree.ts'

interface HostSubjectOptions {
  /** A directory of the test's own that holds the storage root; it is removed at the end. */
  readonly base: string
  readonly root: string
  readonly open: () => StorageDriver
  /** Before the directory is removed: unmounts what the driver has mounted, say. */
  readonly close?: () => void
}

/** The subject for a driver whose writable trees are seen by the host. */
export function hostSubject({ base, root, open, close }: HostSubjectOptions): StorageSubject {
  const storage = open()
  const path = (place: Parameters<StorageDriver['attachment']>[0]): string => storage.attachment(place).path
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
    read: (place) => readTree(path(place), { times: true }),
    write: (place, file, content) => writeFileSync(join(path(place), file), content),
    edit: (place, ...edits) => {
      for (const edit of edits) editHost(path(place), edit)
    },
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
