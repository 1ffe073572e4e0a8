import { mostAgentFileBytes, withoutBlocks, type AgentBlock } from '../../domain/agent-files.ts'
import { isCommitId } from '../../domain/git-ref.ts'
import type { Desk } from './result-repository.ts'

/**
 * Commits anew without what aw had put into files for agents, as somebody who committed everything committed that too.
 * The others stay what they are, up to the first that has it. One that held nothing else is left out. Answers the last.
 */
export async function commitsWithout(
  desk: Desk,
  head: string,
  { since, blocks }: { since: readonly string[]; blocks: readonly AgentBlock[] },
): Promise<string> {
  if (blocks.length === 0) return head
  const range = [head, ...since.map((id) => `^${id}`)]
  const commits = (await desk.ask(['rev-list', '--topo-order', '--reverse', ...range])).split('\n').filter(isCommitId)
  const files = await bareFiles(desk, commits, blocks)
  if (files.size === 0) return head
  const made = new Map<string, string>()
  for (const id of commits) {
    const commit = await readCommit(desk, id)
    const tree = await bareTree(desk, commit.tree, files)
    const parents = commit.parents.map((parent) => made.get(parent) ?? parent)
    if (tree === commit.tree && parents.every((parent, at) => parent === commit.parents[at])) continue
    const [parent] = parents
    const isEmptied = tree !== commit.tree && parents.length === 1 && tree === (await treeOf(desk, parent))
    made.set(id, isEmptied && parent !== undefined ? parent : await writeCommit(desk, commit, tree, parents))
  }
  return made.get(head) ?? head
}

/** By the name of a file at the top and the id of its content: the id of what it is without blocks; null for nothing. */
type BareFiles = ReadonlyMap<string, string | null>

const keyOf = (path: string, id: string): string => `${path} ${id}`

async function bareFiles(
  { ask }: Desk,
  commits: readonly string[],
  blocks: readonly AgentBlock[],
): Promise<Map<string, string | null>> {
  const paths = [...new Set(blocks.map(({ path }) => path))]
  const names = commits.flatMap((commit) => paths.map((path) => `${commit}:${path}\n`))
  const format = '--batch-check=%(objectname) %(objecttype) %(objectsize)'
  const lines = (await ask(['cat-file', format], { input: names.join('') })).split('\n')
  const bare = new Map<string, string | null>()
  const seen = new Set<string>()
  for (const [at, line] of lines.entries()) {
    const [id = '', type, size] = line.split(' ')
    const path = paths[at % paths.length] ?? ''
    if (type !== 'blob' || Number(size) > mostAgentFileBytes || seen.has(keyOf(path, id))) continue
    seen.add(keyOf(path, id))
    const content = Buffer.from(await ask(['cat-file', 'blob', id]), 'latin1')
    const { rest, blocks: found } = withoutBlocks(
      content,
      blocks.filter((block) => block.path === path),
    )
    if (found === 0) continue
    bare.set(keyOf(path, id), rest && (await ask(['hash-object', '-w', '--stdin'], { input: [rest] })).trim())
  }
  return bare
}

async function bareTree({ ask }: Desk, tree: string, files: BareFiles): Promise<string> {
  const entries = (await ask(['ls-tree', '-z', tree])).split('\0').filter((entry) => entry !== '')
  const kept = entries.flatMap((entry) => {
    const [, mode, id = '', path = ''] = /^(\d+ blob) ([0-9a-f]+)\t([^]+)$/.exec(entry) ?? []
    const bare = files.get(keyOf(path, id))
    if (bare === undefined) return [entry]
    return bare === null ? [] : [`${mode} ${bare}\t${path}`]
  })
  if (kept.every((entry, at) => entry === entries[at]) && kept.length === entries.length) return tree
  const input = kept.map((entry) => Buffer.from(`${entry}\0`, 'latin1'))
  return (await ask(['mktree', '-z'], { input })).trim()
}

interface Commit {
  readonly tree: string
  readonly parents: readonly string[]
  /** The lines after those, without signatures: they were for other bytes. */
  readonly headers: readonly string[]
  readonly message: string
}

async function readCommit({ ask }: Desk, id: string): Promise<Commit> {
  const content = await ask(['cat-file', 'commit', id])
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

async function writeCommit({ ask }: Desk, { headers, message }: Commit, tree: string, parents: readonly string[]) {
  const lines = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), ...headers].join('\n')
  const input = [Buffer.from(`${lines}${message}`, 'latin1')]
  return (await ask(['hash-object', '-t', 'commit', '-w', '--stdin'], { input })).trim()
}

const treeOf = async ({ ask }: Desk, commit = ''): Promise<string> =>
  (await ask(['rev-parse', '--verify', `${commit}^{tree}`])).trim()
