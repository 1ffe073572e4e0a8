import { boxHome } from '../../../../domain/sandbox/place.ts'
import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import { allSockets, seccompFilter } from '../../walls/seccomp.ts'
import { type BoxMount, bwrapArguments } from './bwrap.ts'
import type { Bubblewrap } from './bwrap-program.ts'
import type { Tag } from '../frames.ts'
import { gitConfig, gitIgnore } from './git-config.ts'
import type { Handles } from '../handles.ts'
import { type Layers, layeredMounts, lookInLayers, upperIdentity } from './layers.ts'
import { makeMounts, planMounts } from './mounts.ts'
import { partFile } from '../parts.ts'
import { boxProgram } from '../program.ts'
import type { BoxRecord, Placeholder } from '../record.ts'
import { byStage, bySelf } from './sources.ts'
import { systemArguments } from './system-view.ts'
import { type BoxTree, lookBelow, openTree } from '../tree.ts'
import { chooseUser, ensureStage } from './user.ts'

interface NamespaceBox {
  readonly spec: SandboxSpec
  readonly run: string
  readonly bwrap: Bubblewrap
}

/** The walls of a `namespace` box, planned; its tree is held open until they are disposed of. */
export interface NamespaceWalls extends Disposable, Pick<BoxRecord, 'tree' | 'mountedIn' | 'placeholders'> {
  readonly makesPlaceholders: boolean
  /** What is held in another way than was asked for, or not at all, in words. */
  readonly notes: readonly string[]
  /** @param placeholders all that are in the tree, also of other boxes */
  tags(directory: string, held: Handles, placeholders: readonly Placeholder[]): Tag[]
}

export function namespaceWalls(box: NamespaceBox): NamespaceWalls {
  const { attachment } = box.spec
  if (attachment.kind === 'overlay') return overLayers(box, attachment)
  const tree = openTree(attachment.path)
  try {
    return aroundTree(box, tree)
  } catch (error) {
    tree[Symbol.dispose]()
    throw error
  }
}

function aroundTree({ spec, run, bwrap }: NamespaceBox, tree: BoxTree): NamespaceWalls {
  const { path } = spec.attachment
  const user = chooseUser({ path, owner: tree.owner }, spec.uid, { asItself: true })
  const planned = planMounts(spec, (names) => lookBelow(tree.root, names))
  const place = { path, identity: tree.identity }
  return {
    tree: place,
    mountedIn: place,
    placeholders: planned.placeholders,
    makesPlaceholders: true,
    notes: [...planned.notes, ...(user.note === undefined ? [] : [user.note])],
    tags(_, held, placeholders) {
      const sources = user.uid === undefined ? bySelf(held) : byStage(ensureStage(run), user)
      const mounts = makeMounts({ spec, run }, tree, planned, sources)
      return [
        ...sources.tags,
        ...(user.uid === undefined ? [] : [['u', `${user.uid}:${user.uid}`] as const]),
        ...wallTags({ spec, run, bwrap }, placeholders, mounts, held),
      ]
    },
    [Symbol.dispose]: () => tree[Symbol.dispose](),
  }
}

function overLayers({ spec, run, bwrap }: NamespaceBox, layers: Layers): NamespaceWalls {
  const planned = planMounts(spec, lookInLayers(layers))
  return {
    tree: { path: layers.path, identity: null },
    mountedIn: { path: layers.upper, identity: upperIdentity(layers) },
    placeholders: planned.placeholders,
    makesPlaceholders: false,
    notes: planned.notes,
    tags(directory, held, placeholders) {
      const { tags, mounts } = layeredMounts({ spec, layers, planned, run, directory, held })
      return [...tags, ...wallTags({ spec, run, bwrap }, placeholders, mounts, held)]
    },
    [Symbol.dispose]: () => undefined,
  }
}

function wallTags(
  { spec, run, bwrap }: NamespaceBox,
  placeholders: readonly Placeholder[],
  mounts: readonly BoxMount[],
  held: Handles,
): Tag[] {
  const part = (content: Buffer): number => held.open(partFile(run, content))
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
