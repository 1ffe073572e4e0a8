import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { quotePath } from '../../domain/paths.ts'
import { mountsOf } from '../fs/mounts.ts'
import { at, directoryFlags, mountId } from '../safe-fs/descriptors.ts'

interface Options {
  /** Names directly below the top that do not count. */
  readonly exclude?: readonly string[] | undefined
}

/** Where others have mounted something in the tree below an open directory: paths as bytes. What it hides nobody sees. */
export function mountsIn(top: number, { exclude = [] }: Options = {}): string[] {
  const [mount, above] = [mountId(top), `${fs.readlinkSync(at(top))}/`]
  return (mountsOf('self') ?? [])
    .filter(({ parent, path }) => parent === mount && path.startsWith(above))
    .map(({ path }) => Buffer.from(path.slice(above.length)).toString('latin1'))
    .filter((path) => !exclude.includes(path.split('/', 1)[0] ?? ''))
}

const opened = <T>(directory: string, use: (top: number) => T): T => {
  const top = fs.openSync(directory, directoryFlags)
  try {
    return use(top)
  } finally {
    fs.closeSync(top)
  }
}

export const mountsBelow = (directory: string, options?: Options): string[] =>
  opened(directory, (top) => mountsIn(top, options))

export const assertNoMountsBelow = (directory: string, options?: Options): void =>
  opened(directory, (top) => assertNoMountsIn(top, options))

/** What is hidden would be missing in a copy of the tree, and lost where that replaces it. */
export function assertNoMountsIn(top: number, options?: Options): void {
  const [first] = mountsIn(top, options)
  if (first === undefined) return
  const path = Buffer.from(first, 'latin1').toString()
  throw new AwError(
    'workspace_active',
    `Something is mounted at ${quotePath(path)}: as long as it is, the workspace cannot be kept or restored whole`,
    {
      hint: `Unmount it, and try again: umount ${fs.readlinkSync(at(top))}/${path}`,
      data: { path },
    },
  )
}

/** Whether a path is one of these, or below one. */
export const isHidden = (path: string, mounted: readonly string[]): boolean =>
  mounted.some((one) => path === one || path.startsWith(`${one}/`))
