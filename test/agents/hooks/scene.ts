import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inRoot } from '../../../tools/root.ts'
import { place, type Place, type Ran } from '../../cli/built-command.ts'

/** What Claude Code 2.1.197 sent to its hooks, with other paths. */
type Sample = 'create-session' | 'create-subagent' | 'create-entered' | 'remove'

export const sample = (name: Sample, fields: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({
    ...(JSON.parse(readFileSync(inRoot(`test/samples/claude-hooks/${name}.json`), 'utf8')) as object),
    ...fields,
  })

/** A user with a repository, and Claude Code's part played by the payloads that it sends. */
export interface Scene extends Disposable {
  readonly place: Place
  readonly repository: string
  create(fields?: Readonly<Record<string, unknown>>, name?: Exclude<Sample, 'remove'>): Ran & { readonly path: string }
  remove(path: string): Ran
  /** In a shell of the user; fails if the script does. */
  sh(script: string): string
  workspaces(flag?: '--trashed'): { readonly workspace_id: string; readonly labels: Record<string, string> }[]
}

const identity = 'export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e'

export function scene(): Scene {
  const here = place('ordinary')
  const repository = join(here.folder, 'web')
  const sh = (script: string): string => {
    const { code, stdout, stderr } = here.sh(`set -eu\n${identity}\n${script}`)
    if (code !== 0) throw new Error(`${script}\n${stdout}${stderr}`)
    return stdout
  }
  sh(`git init -q -b main web && cd web
    printf 'node_modules\\n.env\\n' > .gitignore && echo one > a.txt && git add -A && git commit -qm one
    mkdir -p node_modules/x && echo module > node_modules/x/index.js && echo KEY=1 > .env && echo new > untracked.txt`)
  const hook = (payload: string): Ran => here.awWith(payload, 'hook', 'claude')
  return {
    place: here,
    repository,
    create(fields = {}, name = 'create-session') {
      const ran = hook(sample(name, { cwd: repository, ...fields }))
      return { ...ran, path: ran.stdout.trim() }
    },
    remove: (path) => hook(sample('remove', { worktree_path: path })),
    sh,
    workspaces: (flag) =>
      JSON.parse(here.aw('list', ...(flag === undefined ? [] : [flag]), '--json').stdout) as ReturnType<
        Scene['workspaces']
      >,
    [Symbol.dispose]: () => here[Symbol.dispose](),
  }
}

/** All that git and the file system know of the user's repository. */
export const stateOf = (own: Scene, directory = own.repository): string =>
  own.sh(`cd ${directory} && git for-each-ref && cat .git/HEAD && git worktree list --porcelain && git stash list
    find . -path ./.git/objects -prune -o -type f ! -name index -print0 | sort -z | xargs -0 sha256sum
    find .git/objects | sort`)

/** A shell of the same user that has done this and waits, as long as the work takes. */
export async function withProcess(own: Scene, script: string, work: () => void): Promise<void> {
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawn('bash', ['--norc', '-c', `${script}\necho ready\nread -r`], {
    cwd: '/',
    env: own.place.env,
    ...user,
  })
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve))
    work()
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.stdin.end('\n')
    await ended
  }
}
