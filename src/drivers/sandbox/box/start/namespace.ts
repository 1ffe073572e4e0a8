import { boxHome } from '../../../../domain/sandbox/mount-target.ts'
import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import { canMapIds } from '../../../../sys/fs/file-system.ts'
import { allSockets, seccompFilter } from '../../walls/seccomp.ts'
import { networkTags, type ProxyRoute } from '../../network.ts'
import { type BoxMount, bwrapArguments } from './bwrap.ts'
import type { Bubblewrap } from './bwrap-program.ts'
import type { Tag } from '../frames.ts'
import { gitConfig, gitIgnore } from './git-config.ts'
import { type Layers, layerLookup, layeredMounts } from './layers.ts'
import { makeMounts, mountsNow, placeholdersOf, planMounts } from './mounts.ts'
import { type Making, openPlannedTree } from './opened-tree.ts'
import { sharedFile } from '../shared-files.ts'
import { boxProgram } from '../program.ts'
import type { BoxRecord } from '../record.ts'
import { byStage, byDescriptor } from './mount-sources.ts'
import type { BoxPlan } from './start.ts'
import { systemArguments } from './system-view.ts'
import { openBoxTree, statBelow } from '../tree.ts'
import { chooseUser, ensureStage } from './user.ts'

interface NamespaceBox {
  readonly spec: SandboxSpec
  readonly run: string
  readonly bwrap: Bubblewrap
  readonly network: ProxyRoute
}

/** The walls of a `namespace` box, planned. */
export interface NamespaceWalls extends Pick<BoxRecord, 'tree' | 'mountedIn'>, Pick<BoxPlan, 'open'> {
  /** What is held in another way than was asked for, or not at all, in words. */
  readonly notes: readonly string[]
}

export const namespaceWalls = (box: NamespaceBox): NamespaceWalls =>
  box.spec.attachment.kind === 'overlay' ? overLayers(box, box.spec.attachment) : aroundTree(box)

function aroundTree(box: NamespaceBox): NamespaceWalls {
  const { spec, run } = box
  const { path } = spec.attachment
  using found = openBoxTree(path)
  const user = chooseUser({ path, owner: found.owner, maps: canMapIds(path) }, spec.uid, { asItself: true })
  const planned = planMounts(spec, (names) => statBelow(found.root, names))
  const place = { path, identity: found.identity }
  return {
    tree: place,
    mountedIn: place,
    notes: [...planned.notes, ...(user.note === undefined ? [] : [user.note])],
    open: () =>
      openPlannedTree(place, (tree) => {
        const now = mountsNow(planned, (names) => statBelow(tree.root, names))
        return {
          placeholders: placeholdersOf(now),
          makesPlaceholders: true,
          tags(making) {
            const sources = user.uid === undefined ? byDescriptor(making.held) : byStage(ensureStage(run), user)
            const mounts = makeMounts(box, tree, now, sources)
            return [
              ...sources.tags,
              ...(user.uid === undefined ? [] : [['u', `${user.uid}:${user.uid}`] as const]),
              ...wallTags(box, mounts, making),
            ]
          },
        }
      }),
  }
}

function overLayers(box: NamespaceBox, layers: Layers): NamespaceWalls {
  const planned = planMounts(box.spec, layerLookup(layers))
  using upper = openBoxTree(layers.upper)
  const mountedIn = { path: layers.upper, identity: upper.identity }
  return {
    tree: { path: layers.path, identity: null },
    mountedIn,
    notes: planned.notes,
    open: () =>
      openPlannedTree(mountedIn, () => {
        const now = mountsNow(planned, layerLookup(layers))
        return {
          placeholders: placeholdersOf(now),
          makesPlaceholders: false,
          tags(making) {
            const { tags, mounts } = layeredMounts(box, layers, now, making)
            return [...tags, ...wallTags(box, mounts, making)]
          },
        }
      }),
  }
}

function wallTags({ spec, run, bwrap, network }: NamespaceBox, mounts: readonly BoxMount[], making: Making): Tag[] {
  const { placeholders, held } = making
  const part = (content: Buffer): number => held.open(sharedFile(run, content))
  const ignored = gitIgnore(placeholders, spec.content)
  const data = {
    passwd: part(passwd),
    group: part(group),
    hosts: part(hosts),
    box: held.open(boxProgram()),
    filter: part(filterOf(spec.network.mode === 'host')),
    ...(spec.gitUser === undefined ? {} : { git: part(gitConfig(spec.gitUser)) }),
    ...(spec.gitUser === undefined || ignored.length === 0 ? {} : { gitIgnore: part(ignored) }),
  }
  const walls = bwrapArguments({
    bwrap: bwrap.path,
    system: systemArguments(),
    data,
    mounts,
    mount: spec.mount,
    network: spec.network.mode,
    disablesUserns: bwrap.disablesUserns,
  })
  return [
    ['k', 'namespace'],
    ...walls.map((argument): Tag => ['A', argument]),
    ...Object.values(data).map((descriptor): Tag => ['H', descriptor]),
    ...networkTags(network, making),
  ]
}

/**
 * In the network of the host there are sockets of its services that no directory keeps anybody from, as those of X11 and
 * D-Bus: the kernel finds them by a name in that network. So none that could reach them is made there.
 */
const filterOf = (ofHost: boolean): Buffer =>
  ofHost
    ? (filters.ofHost ??= seccompFilter({ sockets: ['inet', 'inet6', 'route'] }))
    : (filters.own ??= seccompFilter({ sockets: allSockets }))

/** The same for many boxes, and some work to make. */
const filters: { own?: Buffer; ofHost?: Buffer } = {}

const passwd = Buffer.from(
  `agent:x:1000:1000:agent:${boxHome}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
)
const group = Buffer.from('agent:x:1000:\nnogroup:x:65534:\n')
const hosts = Buffer.from('127.0.0.1 localhost aw\n::1 localhost\n')
