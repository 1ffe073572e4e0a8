import { maxAgentFileBytes, withoutBlocks, type AgentBlock } from '../../../domain/workspace/agent-files.ts'
import { isCommitId } from '../../../domain/git/ref.ts'
import { newObjects, type NewObjects } from './new-objects.ts'
import { contentsOf, lookUp, type FoundObject } from './object-batch.ts'
import type { StagingRepository } from './staging-repository.ts'

/**
 * Commits anew without what aw had put into files for agents, as somebody who committed everything committed that too.
 * The others stay what they are, up to the first that has it. One that held nothing else is left out. Answers the last.
 *
 * There may be thousands: how often git is started does not depend on that.
 */
export async function stripAgentBlocks(
  staging: StagingRepository,
  head: string,
  { since, blocks }: { since: readonly string[]; blocks: readonly AgentBlock[] },
): Promise<string> {
  if (blocks.length === 0) return head
  const range = [head, ...since.map((id) => `^${id}`)]
  const ids = (await staging.ask(['rev-list', '--topo-order', '--reverse', ...range])).split('\n').filter(isCommitId)
  const objects = newObjects(staging.sha256)
  const files = await bareFiles(staging, ids, blocks, objects)
  if (files.of.size === 0) return head
  const trees = await bareTrees(staging, files, objects)
  const made = await bareCommits(staging, ids, trees, objects)
  await staging.ask(['index-pack', '--stdin'], { input: objects.pack() })
  return made.get(head) ?? head
}

interface BareFiles {
  /** By the name of a file at the top and the id of its content: the id of what it is without blocks; null for nothing. */
  readonly of: ReadonlyMap<string, string | null>
  /** The commits that have one of them. */
  readonly holders: readonly string[]
}

const keyOf = (path: string, id: string): string => `${path} ${id}`

async function bareFiles(
  staging: StagingRepository,
  ids: readonly string[],
  blocks: readonly AgentBlock[],
  objects: NewObjects,
): Promise<BareFiles> {
  const paths = [...new Set(blocks.map(({ path }) => path))]
  const names = ids.flatMap((commit) => paths.map((path) => ({ commit, path })))
  const found = await lookUp(
    staging,
    names.map(({ commit, path }) => `${commit}:${path}`),
  )
  const files = names.flatMap(({ commit, path }, index) => {
    const file = found[index]
    if (file?.kind !== 'blob' || file.size > maxAgentFileBytes) return []
    return [{ ...file, commit, path, key: keyOf(latin1(path), file.id) }]
  })
  const unique = [...new Map(files.map((one) => [one.key, one])).values()]
  const of = new Map<string, string | null>()
  for await (const [{ path, key }, content] of contentsOf(staging, unique)) {
    const known = blocks.filter((block) => block.path === path)
    const { rest, blocks: count } = withoutBlocks(content, known)
    if (count > 0) of.set(key, rest && objects.add('blob', rest))
  }
  return { of, holders: [...new Set(files.filter(({ key }) => of.has(key)).map(({ commit }) => commit))] }
}

/** As the names in a tree are read. */
const latin1 = (path: string): string => Buffer.from(path).toString('latin1')

interface BareTrees {
  /** By the id of a tree, what it is without blocks. */
  readonly of: ReadonlyMap<string, string>
  /** By the id of a commit that has a block, the tree of the first commit before it. */
  readonly before: ReadonlyMap<string, string>
}

async function bareTrees(staging: StagingRepository, files: BareFiles, objects: NewObjects): Promise<BareTrees> {
  const { holders } = files
  const found = await lookUp(
    staging,
    holders.map((id) => `${id}^{tree}`),
  )
  const unique = [...new Map(found.flatMap((tree) => (tree === undefined ? [] : [[tree.id, tree] as const]))).values()]
  const of = new Map<string, string>()
  for await (const [{ id }, content] of contentsOf(staging, unique)) {
    const bare = bareTree(content, files, staging.sha256)
    if (bare !== undefined) of.set(id, objects.add('tree', bare))
  }
  const parents = await lookUp(
    staging,
    holders.map((id) => `${id}^1^{tree}`),
  )
  const before = new Map(holders.flatMap((id, index) => pairOf(id, parents[index])))
  return { of, before }
}

const pairOf = (id: string, tree: FoundObject | undefined): [string, string][] =>
  tree === undefined ? [] : [[id, tree.id]]

/** Undefined if there is none of these files in it. An entry is `MODE NAME`, a zero byte and the bytes of an id. */
function bareTree(content: Buffer, files: BareFiles, sha256: boolean): Buffer | undefined {
  const length = sha256 ? 32 : 20
  const kept: Buffer[] = []
  let isBare = false
  for (let from = 0, to; from < content.length; from = to) {
    const zero = content.indexOf(0, from)
    to = zero + 1 + length
    const path = content.toString('latin1', content.indexOf(' ', from) + 1, zero)
    const bare = files.of.get(keyOf(path, content.toString('hex', zero + 1, to)))
    isBare ||= bare !== undefined
    if (bare === undefined) kept.push(content.subarray(from, to))
    else if (bare !== null) kept.push(content.subarray(from, zero + 1), Buffer.from(bare, 'hex'))
  }
  return isBare ? Buffer.concat(kept) : undefined
}

/** By the id of each that is another now: what it is, or what comes in its place. */
async function bareCommits(
  staging: StagingRepository,
  ids: readonly string[],
  trees: BareTrees,
  objects: NewObjects,
): Promise<Map<string, string>> {
  const made = new Map<string, string>()
  const treeAt = new Map<string, string>()
  const found = (await lookUp(staging, ids)).flatMap((one) => one ?? [])
  for await (const [{ id }, content] of contentsOf(staging, found)) {
    const commit = commitIn(content)
    const tree = trees.of.get(commit.tree) ?? commit.tree
    treeAt.set(id, tree)
    const parents = commit.parents.map((parent) => made.get(parent) ?? parent)
    if (tree === commit.tree && parents.every((parent, at) => parent === commit.parents[at])) continue
    const [parent] = parents
    const before = treeAt.get(commit.parents[0] ?? '') ?? trees.before.get(id)
    const isEmptied = tree !== commit.tree && parents.length === 1 && tree === before
    made.set(id, isEmptied && parent !== undefined ? parent : objects.add('commit', bytesOf(commit, tree, parents)))
  }
  return made
}

interface Commit {
  readonly tree: string
  readonly parents: readonly string[]
  /** The lines after those, without signatures: they were for other bytes. */
  readonly headers: readonly string[]
  readonly message: string
}

function commitIn(bytes: Buffer): Commit {
  const content = bytes.toString('latin1')
  const end = content.indexOf('\n\n')
  // What goes on over several lines begins with a space there.
  const headers = content.slice(0, end).split(/\n(?! )/)
  const valuesOf = (name: string): string[] =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
  return {
    tree: valuesOf('tree')[0] ?? '',
    parents: valuesOf('parent'),
    headers: headers.filter((line) => !/^(?:tree|parent|gpgsig|gpgsig-sha256) /.test(line)),
    message: content.slice(end),
  }
}

function bytesOf({ headers, message }: Commit, tree: string, parents: readonly string[]): Buffer {
  const lines = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), ...headers].join('\n')
  return Buffer.from(`${lines}${message}`, 'latin1')
}
