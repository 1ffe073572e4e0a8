import { createHash } from 'node:crypto'
import { closeSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { injectReplacingAll, maxAgentFileBytes } from '../../../domain/workspace/agent-files.ts'
import { AwError, type ErrorCode } from '../../../domain/errors.ts'
import type { AgentDirectories, WantedDirectories } from '../../../ports/agents.ts'
import { ensureDirectory, pathExists } from '../../../sys/fs/directories.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { openRoot, removeTree } from '../../../sys/safe-fs/index.ts'

/**
 * Makes the directories of an agent in a workspace.
 *
 * @param directory of this agent in this workspace; ours alone, until its state is shown to a sandbox
 * @param owner whom the state belongs to; undefined for whoever runs this
 */
export async function makeAgentDirectories(
  directory: string,
  wanted: WantedDirectories,
  owner: number | undefined,
): Promise<AgentDirectories> {
  ensureDirectory(directory, 0o700)
  const state = join(directory, 'state')
  ensureDirectory(state, 0o700)
  if (owner !== undefined && lstatSync(state).uid !== owner) hostFs.lchownSync(state, owner, owner)
  putFiles(state, wanted.files, wanted.instructions)
  return { state, programs: await makePrograms(directory, wanted) }
}

/**
 * The agent writes there: no link that it has put in the way leads out. What it has made itself stays, also if it is in
 * the way: that harms nobody but the agent, and must not keep its sandbox from being started.
 */
function putFiles(
  state: string,
  texts: Readonly<Record<string, string>>,
  instructions: WantedDirectories['instructions'],
): void {
  using files = openRoot(state, { resolver: 'walk' })
  const put = (path: string, change: (exists: boolean) => Buffer | null): void => {
    try {
      const wanted = change(files.resolve(path).exists)
      if (wanted === null) return
      if (dirname(path) !== '.') files.mkdir(dirname(path), { parents: true })
      files.write(path, wanted)
    } catch (error) {
      if (!(error instanceof AwError) || !inTheWay.includes(error.code)) throw error
    }
  }
  for (const [path, text] of Object.entries(texts)) put(path, (exists) => (exists ? null : Buffer.from(text)))
  if (instructions === undefined) return
  const { path, text } = instructions
  put(path, (exists) => {
    const existing = exists ? files.read(path, { maxBytes: maxAgentFileBytes }) : null
    const wanted = injectReplacingAll(existing, text)
    return existing?.equals(wanted) === true ? null : wanted
  })
}

const inTheWay: readonly ErrorCode[] = [
  'symlink_outside_workspace',
  'cannot_resolve_symlinks',
  'file_exists',
  'not_a_directory',
  'not_a_file',
  'file_too_large',
  'permission_denied',
]

/** A directory by what is in it, so that one which a sandbox uses is never changed. Whole or not there at all. */
async function makePrograms(directory: string, { program, runtime }: WantedDirectories): Promise<string> {
  const hash = createHash('sha256')
    .update(JSON.stringify({ program, runtime: runtime?.path }))
    .digest('hex')
  const name = `programs-${hash.slice(0, 16)}`
  const made = join(directory, name)
  if (pathExists(made)) return made
  await removeTree(directory, 'unfinished')
  const unfinished = join(directory, 'unfinished')
  hostFs.mkdirSync(unfinished, 0o755)
  if (runtime !== undefined) hostFs.symlinkSync(runtime.path, join(unfinished, runtime.name))
  if (program.arguments.length === 0) hostFs.symlinkSync(program.path, join(unfinished, program.name))
  else writeWrapper(join(unfinished, program.name), program)
  hostFs.renameToFreeSync(unfinished, made)
  return made
}

function writeWrapper(file: string, { path, arguments: words }: WantedDirectories['program']): void {
  const fd = hostFs.createSync(file, 0o755)
  try {
    hostFs.writeSync(fd, Buffer.from(`#!/bin/sh\nexec ${[path, ...words].map(quoted).join(' ')} "$@"\n`))
  } finally {
    closeSync(fd)
  }
}

/** As one word of a shell, whatever is in it. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** All that agents have in a workspace. */
export async function removeAgentDirectories(directory: string, workspace: string): Promise<void> {
  if (pathExists(directory)) await removeTree(directory, workspace)
}
