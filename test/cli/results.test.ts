/** What an agent did, out of its workspace, with the built command line. */
import { describe, expect, test } from 'vitest'
import { launcher, place } from './built-command.ts'

const repository = `
git init -q -b main repo; cd repo; git config user.name me; git config user.email me@localhost
echo one > README; git add .; git commit -q -m first; cd ..`

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  test('looked at, applied, fetched', { timeout: 120_000 }, () => {
    using here = place(user)
    const sh = (script: string): string => {
      const { code, stdout, stderr } = here.sh(`set -e; ${script}`)
      expect({ script, code, stderr }).toEqual({ script, code: 0, stderr: '' })
      return stdout
    }
    sh(repository)
    sh('aw create task --repo repo')
    sh(
      "aw exec task -- sh -ec 'echo two > README; git commit -q -a -m second; echo three > new; printf \\\\0 > binary'",
    )
    expect(sh('aw git task status --short')).toBe('?? binary\n?? new\n')
    expect(sh('aw git task -- log --format=%s')).toBe('second\nfirst\n')
    expect(here.aw('git', 'task', 'no-such-command')).toMatchObject({ code: 1 })
    const commit = sh('aw export task --branch agent/task --repo repo').trim()
    expect(sh('git -C repo log --format=%s agent/task')).toBe('Work of task/main\nsecond\nfirst\n')
    expect(sh('git -C repo rev-parse agent/task').trim()).toBe(commit)
    expect(sh('git -C repo status --short; git -C repo branch --show-current')).toBe('main\n')
    sh(
      'aw export task --patch > changes; cd repo; git apply ../changes; git add --all; git diff --cached --exit-code agent/task',
    )
    sh(
      'cd repo; git reset -q --hard; aw export task --patch - | git apply; git add --all; git diff --cached --exit-code agent/task',
    )
    sh('aw export task --bundle task.bundle; git -C repo bundle verify -q ../task.bundle 2> verified')
    expect(here.aw('export', 'task', '--branch', 'main', '--repo', 'repo')).toMatchObject({ code: 9 })
    sh('aw exec task -- touch more')
    expect(here.aw('export', 'task', '--branch', 'agent/task', '--repo', 'repo')).toMatchObject({ code: 4 })
    expect(here.aw('export', 'task', '--branch', 'x')).toMatchObject({ code: 2 })
    sh('aw snapshot task; aw exec task -- sh -c "echo x > x"')
    expect(sh('aw diff task@head --stat')).toBe('A\twork/x\t+1 -0\n')
    // What a started sandbox without these walls would run, is not run.
    sh('aw start task --isolation none -q')
    expect(here.aw('git', 'task', 'status')).toMatchObject({ code: 125, stdout: '' })
    sh('aw stop task; aw start task')
    expect(sh('aw git task rev-parse --show-toplevel')).toBe('/workspace/work\n')
    sh('aw stop task')
  })
})

test(
  'without such walls nothing of the agent’s repository is read, and nothing weaker is used',
  { timeout: 60_000 },
  () => {
    using here = place('ordinary')
    const { code, stdout, stderr } = here.sh(`set -e; ${repository}
    exec unshare --user --map-root-user sh -c '
      aw() { "${process.execPath}" "${launcher}" "$@"; }
      aw create task --repo repo > path; echo two > $(cat path)/work/README
      echo 0 > /proc/sys/user/max_user_namespaces
      aw export task --branch kept --repo repo; echo $?
      aw git task status; echo $?
      aw export task --branch squashed --repo repo --squash > commit; echo $?
      git -C repo show squashed:README; git -C repo branch --format="%(refname:short)"'`)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '6\n125\n0\ntwo\nmain\nsquashed\n' })
    expect(stderr.match(/The isolation namespace cannot be had here/g)).toHaveLength(2)
  },
)

test('without such walls what changed in a repository is told, but not its earlier lines', { timeout: 60_000 }, () => {
  using here = place('ordinary')
  const { code, stdout } = here.sh(`set -e; ${repository}
    exec unshare --user --map-root-user sh -c '
      aw() { "${process.execPath}" "${launcher}" "$@"; }
      aw create task --repo repo > path; echo two > $(cat path)/work/README
      aw diff task --stat
      echo 0 > /proc/sys/user/max_user_namespaces
      aw diff task; aw diff task --text --json
      aw snapshot task --quiet > kept; echo three > $(cat path)/work/new
      aw diff task
      aw diff task@head --stat'`)
  const [before, since, shown = '', ...rest] = stdout.split('\n')
  expect([code, before, since]).toEqual([0, 'M\twork/README\tcontent\t+1 -1', 'M\twork/README\tcontent'])
  expect(JSON.parse(shown)).toMatchObject({ omitted: 'The earlier content of work/README was not kept' })
  expect(rest).toEqual(['M\twork/README\tcontent', 'A\twork/new', 'A\twork/new\t+1 -0', ''])
})
