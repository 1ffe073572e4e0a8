import type { Inputs, Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { temporaryName } from '../domain/paths.ts'
import type { FileHandle } from '../ports/files.ts'
import type { CopyReport } from '../ports/host.ts'
import type { Core, Request } from './core.ts'
import { within } from './files.ts'
import { volumeOf } from './places.ts'
import { assertRoom } from './size-limit.ts'

/** Between the machine and a workspace, or between two workspaces. */
export async function cp(core: Core, input: Inputs['cp'], request: Request): Promise<Outputs['cp']> {
  const [from, to] = [endOf(input.from, 'from'), endOf(input.to, 'to')]
  const copying = {
    signal: request.signal,
    onProgress: (done: { files: number; bytes: number }) => request.onProgress?.({ phase: 'copying', ...done }),
  }
  if (from.workspace === undefined) {
    if (to.workspace === undefined)
      throw new AwError('invalid_input', 'Neither of the two is in a workspace', {
        hint: 'Name it as WORKSPACE:PATH',
        data: { field: 'from' },
      })
    return putInto(core, to.workspace, to.path, nameIn(from.path), (place) =>
      core.host.copyIn(from.path, place, copying),
    )
  }
  const source = await within(core, from.workspace, 'read', (tree, workspace) => ({
    root: core.storage.attachment(volumeOf(workspace)).path,
    path: tree.resolve(from.path).path,
  }))
  if (to.workspace === undefined) return told(await core.host.copyOut(source, to.path, copying))
  return putInto(core, to.workspace, to.path, nameIn(source.path), (place) => core.host.copyIn(source, place, copying))
}

/** Copied to a name of its own at the top of the tree first; from there it goes to its place as everything there does. */
async function putInto(
  core: Core,
  workspace: string,
  path: string,
  name: string,
  copy: (place: string) => Promise<CopyReport>,
): Promise<Outputs['cp']> {
  const temporary = temporaryName(Buffer.from(core.clock.random(8)).toString('hex'))
  try {
    const report = await within(core, workspace, 'write', (_, found) =>
      copy(`${core.storage.attachment(volumeOf(found)).path}/${temporary}`),
    )
    await within(core, workspace, 'write', async (tree, found) => {
      await assertRoom(core, found, { done: report.bytes })
      const made = report.single ? `${temporary}/${name}` : temporary
      tree.rename(made, isDirectory(tree, path) ? join(path, name) : path, { parents: true })
    })
    return told(report)
  } finally {
    await within(core, workspace, 'write', (tree) => {
      tree.remove(temporary, { recursive: true, missing: 'ignore' })
    })
  }
}

const told = ({ files, bytes, skipped }: CopyReport): Outputs['cp'] => ({ files, bytes, skipped })

function isDirectory(tree: FileHandle, path: string): boolean {
  if (path.endsWith('/') || path === '.') return true
  const { exists } = tree.resolve(path)
  return exists && tree.stat(path).kind === 'directory'
}

const join = (directory: string, name: string): string =>
  directory === '.' ? name : `${directory.replace(/\/+$/, '')}/${name}`

const nameIn = (path: string): string => path.split('/').findLast((part) => part !== '') ?? 'copy'

interface End {
  readonly workspace?: string
  readonly path: string
}

function endOf(text: string, field: string): End {
  if (text.startsWith('/')) return { path: text }
  const cut = text.indexOf(':')
  if (cut > 0) return { workspace: text.slice(0, cut), path: text.slice(cut + 1) || '.' }
  const said = JSON.stringify(text.slice(0, 200))
  throw new AwError('invalid_input', `${said} is neither WORKSPACE:PATH nor an absolute path`, {
    hint: 'Put the name of the workspace and a colon before the path',
    data: { field },
  })
}
