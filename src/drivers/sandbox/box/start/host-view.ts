import { accessSync, closeSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { quotePath } from '../../../../domain/paths.ts'
import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import { canonical } from '../../../../sys/fs/canonical.ts'
import { canMapIds } from '../../../../sys/fs/file-system.ts'
import { ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { landlockRuleset } from '../../walls/landlock.ts'
import { at } from '../../../../sys/safe-fs/descriptors.ts'
import { seccompFilter } from '../../walls/seccomp.ts'
import type { Tag } from '../frames.ts'
import type { Handles } from '../handles.ts'
import { openPlannedTree } from './opened-tree.ts'
import { sharedFile } from '../shared-files.ts'
import { boxPath } from './paths.ts'
import { byStage, openSource } from './mount-sources.ts'
import type { BoxPlan } from './start.ts'
import { systemPaths } from './system-view.ts'
import { type BoxTree, openBoxTree } from '../tree.ts'
import { type BoxUser, canReach, chooseUser, ensureStage, type TreeOwner } from './user.ts'

/**
 * Levels that mount nothing for their commands: these see the host's files under the host's names. Where root runs a box
 * as somebody who cannot get to its tree or to its own directories by their paths, those are bound on a stage.
 */
export interface HostView extends Pick<BoxPlan, 'open'> {
  readonly tree: { readonly path: string; readonly identity: string }
  readonly note?: string | undefined
  /** Where commands find the tree, and what is the box's own. */
  places(directory: string): { readonly inside: string; readonly files: string; readonly env: Record<string, string> }
}

interface HostViewBox {
  readonly spec: SandboxSpec
  readonly run: string
  readonly level: 'none' | 'guarded'
}

export function planHostView({ spec, run, level }: HostViewBox): HostView {
  if (spec.attachment.kind !== 'dir') throw treeNotOnHost(level)
  const { path } = spec.attachment
  using found = openBoxTree(path)
  const user = hostViewUser({ path, owner: found.owner, maps: canMapIds(path) }, spec, level)
  const staged = user.uid !== undefined
  const treeStaged = user.uid !== undefined && !(found.owner === user.uid && canReach(path, user.uid))
  const place = { path, identity: found.identity }
  const own = level === 'guarded' ? ['files', 'home', 'tmp'] : ['files']
  // Files are put without following a link, and a home may be reached through one.
  const placeOf = (directory: string, name: string): string =>
    join(staged ? ensureStage(run) : canonical(directory), name)

  return {
    tree: place,
    note: user.note,
    places: (directory) => ({
      inside: treeStaged ? join(ensureStage(run), 'tree') : path,
      files: placeOf(directory, 'files'),
      env:
        level === 'guarded'
          ? {
              PATH: boxPath,
              HOME: placeOf(directory, 'home'),
              TMPDIR: placeOf(directory, 'tmp'),
              // Where it may not look, git does not go on as if nothing were there.
              GIT_CONFIG_NOSYSTEM: '1',
              ...common,
            }
          : {
              PATH: staged ? boxPath : ownPath(),
              HOME: staged ? placeOf(directory, 'files') : homedir(),
              TMPDIR: '/tmp',
              ...common,
            },
    }),
    open: () =>
      openPlannedTree(place, (tree) => ({
        placeholders: [],
        makesPlaceholders: false,
        tags({ directory, held }) {
          for (const name of own) makeOwn(join(directory, name), user)
          return [
            ['k', level],
            // Our own program: whoever the box runs as may not get to it by its path.
            ['A', '/proc/self/exe'],
            ['A', 'init'],
            ...(user.uid === undefined ? [] : [['u', `${user.uid}:${user.uid}`] as const]),
            ...(staged ? stageTags(tree, directory) : []),
            ...(level === 'guarded' ? guardTags(tree, directory, held) : []),
          ]
        },
      })),
  }

  function stageTags(tree: BoxTree, directory: string): readonly Tag[] {
    const sources = byStage(ensureStage(run), user)
    if (treeStaged) sources.add(tree.root.fd, path, 'tree')
    for (const name of own) {
      const fd = openSource(join(directory, name))
      try {
        sources.add(fd, join(directory, name), name)
      } finally {
        closeSync(fd)
      }
    }
    return sources.tags
  }

  function guardTags(tree: BoxTree, directory: string, held: Handles): Tag[] {
    const online = spec.network.mode === 'host'
    const bound = (writable: boolean): string[] =>
      spec.binds.filter((bind) => bind.writable === writable).map(({ source }) => source)
    const ruleset = landlockRuleset({
      writable: [at(tree.root.fd), ...own.map((name) => join(directory, name)), ...bound(true)],
      readable: [...systemPaths(), '/proc', ...bound(false), ...(online ? ['/etc/resolv.conf'] : [])],
      // Not /dev/pts: the user's other terminals are there.
      devices: ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`),
      tcp: online,
    })
    // Nor sockets with a path, with any network: no rule keeps from those of the user's services.
    const filter = sharedFile(
      run,
      seccompFilter({ sockets: online ? ['inet', 'inet6', 'route'] : [], amongOthers: true }),
    )
    return [
      ['L', held.add(ruleset)],
      ['F', held.open(filter)],
    ]
  }
}

/** Whom its commands run as: somebody who gets to all that is bound. */
export function hostViewUser(
  tree: TreeOwner,
  { uid, binds }: Pick<SandboxSpec, 'uid' | 'binds'>,
  level: 'none' | 'guarded',
): BoxUser {
  const user = level === 'none' && uid === undefined ? self : chooseUser(tree, uid, { asItself: false })
  assertBinds(binds, level, user)
  return user
}

/** Where our own user's programs are. An entry that may not be entered would hide from a command why it is not found. */
const ownPath = (): string =>
  (process.env['PATH'] ?? boxPath)
    .split(':')
    .filter((entry) => isAbsolute(entry) && ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES'], () => isOpen(entry)))
    .join(':')

function isOpen(directory: string): true {
  accessSync(directory, constants.X_OK)
  return true
}

const self: BoxUser = { uid: undefined, mapOf: () => '-' }

const common = { LANG: 'C.UTF-8', SHELL: '/bin/sh' }

function makeOwn(path: string, { uid }: BoxUser): void {
  hostFs.mkdirSync(path, 0o700)
  if (uid !== undefined) hostFs.lchownSync(path, uid, uid)
}

/** Without mounts a path means to a command what it means outside, and only rules can make it read-only. */
function assertBinds(binds: SandboxSpec['binds'], level: 'none' | 'guarded', { uid }: BoxUser): void {
  for (const { source, target, writable } of binds) {
    const why =
      source !== target
        ? 'it would be at another path'
        : level === 'none' && !writable
          ? 'nothing would keep it read-only'
          : uid !== undefined && !canReach(source, uid)
            ? `uid ${uid} cannot get to it`
            : undefined
    if (why === undefined) continue
    throw new AwError(
      'sandbox_unenforceable',
      `${quotePath(source)} cannot be in a sandbox of level ${level}: ${why}`,
      {
        hint: 'Use the isolation namespace',
        data: { source, target },
      },
    )
  }
}

export const treeNotOnHost = (level: string): AwError =>
  new AwError('sandbox_unenforceable', `The level ${level} cannot show a workspace that has no path on the host`, {
    hint: 'Use the isolation namespace',
  })
