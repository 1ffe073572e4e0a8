/** Runs, from the built command line: they outlive whoever started them, and their states end true. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { ownersOf } from '../sandbox/home.ts'
import { place, type Place } from './built-command.ts'

type Run = Outputs['runs'][number]

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  let here: Place
  beforeAll(() => {
    here = place(user)
  })
  afterAll(async () => {
    for (const { workspace } of all()) here.aw('stop', workspace, '--grace-ms', '0')
    // Whoever sees to the end of a run would write into a home that is being removed.
    await endBoxes(here.home)
    here[Symbol.dispose]()
  })

  const json = (...words: string[]): unknown => JSON.parse(here.aw(...words, '--json').stdout)
  const all = (): Run[] => json('runs') as Run[]
  const last = (id: string): Run | undefined => (json('runs', id) as Run[]).at(-1)
  const events = (id: string): string[] =>
    here
      .aw('events', '--workspace', id, '--json')
      .stdout.trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)

  async function until(what: string, test: () => boolean): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (test()) return
      await sleep(100)
    }
    throw new Error(`It did not happen: ${what}`)
  }

  test('what it writes comes out as it is, its end is ours, and then it is told what changed', () => {
    const script = 'cat "$AW_PROMPT_FILE"; echo; echo note > note; echo err >&2; exit 3'
    const { code, stdout, stderr } = here.aw('run', '--id', 'one', 'Take a note', '--', 'sh', '-c', script)
    expect([code, stdout]).toEqual([3, 'Take a note\n'])
    expect(stderr).toContain('aw: The workspace began empty; --repo . or --from . gives it your files\n')
    expect(stderr).toContain('err\n')
    expect(stderr).toMatch(/one\/main {2}failed after \d+\.\d s \(it ended with exit code 3\): 1 added/)
    for (const next of ['aw diff one/main', 'aw export one/main', 'aw undo one/main', 'aw destroy one/main'])
      expect(stderr).toContain(next)
    expect(here.aw('diff', 'one', '--stat').stdout).toBeDefined()
    expect(here.aw('undo', 'one').code).toBe(0)
    expect(here.aw('fs', 'list', 'one', 'work', '--json').stdout).not.toContain('note')
    expect(here.aw('logs', 'one').stdout).toBe('Take a note\n')
    expect(here.aw('logs', 'one').stderr).toBe('err\n')
    expect(here.aw('logs', 'one', '-n', '1').stdout).toBe('')
    expect(here.aw('wait', 'one').code).toBe(3)
  })

  test('what could not be kept of it is told, and not taken for nothing', () => {
    here.aw('create', 'full')
    here.aw('snapshot', 'full')
    const noRoom = ['--set', 'snapshots.max=1']
    const script = ['--', 'sh', '-c', 'echo new > new; exit 2']
    const { code, stderr } = here.aw('run', '--id', 'full', ...noRoom, ...script)
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/exit code 2\); what it left is there, and not kept: full/),
    ])
    expect(stderr).not.toContain('nothing changed')
    for (const next of ['aw diff full/main', 'aw snapshot full/main']) expect(stderr).toContain(next)
    expect(last('full')).toMatchObject({ state: 'failed', snapshot: null, not_kept: { code: 'snapshot_limit' } })
  })

  test('of several at once, one that cannot be made is told as failed, and the others run', () => {
    const there = (json('list') as unknown[]).length
    const few = ['--set', `workspaces.max_workspaces=${there + 2}`]
    const { code, stdout, stderr } = here.aw('run', '--id', 'few', '--count', '2', ...few, '--', 'echo', 'ran')
    expect(code).toBe(125)
    expect(stdout).toContain('ran')
    expect(stderr).toMatch(/few\/main-1\s+completed/)
    expect(stderr).toMatch(/few\/main-2\s+failed/)
  })

  test('in a sandbox without walls that was started before, an agent is not told to do everything without asking', () => {
    const command = ['echo', '{{unattended}}', '{{prompt}}']
    const profile = { title: 'Bold', binary: 'echo', command, prompt: 'argument', unattended: ['--yes'] }
    here.sh(`mkdir -p "$AW_HOME/agents.d"; echo '${JSON.stringify(profile)}' > "$AW_HOME/agents.d/bold.json"`)
    expect(here.aw('run', '--id', 'bold', '--agent', 'bold', 'go').stdout).toBe('--yes go\n')
    expect(here.aw('start', 'bold', '--agent', 'bold', '--isolation', 'none').code).toBe(0)
    expect(here.aw('run', '--id', 'bold', '--agent', 'bold', 'go').stdout).toBe('go\n')
    expect(here.aw('stop', 'bold').code).toBe(0)
  })

  test('what is read-only for every agent is so for one of the user, whatever its profile adds', () => {
    const profile = { title: 'Own', binary: 'sh', command: ['sh', '-c', '{{prompt}}'], protect: ['own.toml'] }
    here.sh(`mkdir -p "$AW_HOME/agents.d"; echo '${JSON.stringify(profile)}' > "$AW_HOME/agents.d/own.json"`)
    const attack = 'for name in own.toml .mcp.json .claude/x .vscode/x free; do echo x > $name; done; true'
    const { stderr } = here.aw('run', '--id', 'own', '--agent', 'own', attack)
    expect(stderr.match(/Read-only file system/g)).toHaveLength(4)
    expect(here.aw('fs', 'list', 'own', 'work').stdout).toContain('free')
  })

  test('a prompt and a secret of that name are two files', () => {
    here.aw('create', 'asked')
    expect(here.awWith('secret', 'env', 'set', 'asked', '--secret', 'prompt').code).toBe(0)
    const both = ['sh', '-c', 'cat "$AW_PROMPT_FILE" "$prompt_FILE"']
    expect(here.aw('run', '--id', 'asked', 'task ', '--', ...both).stdout).toBe('task secret')
  })

  test('an agent that does not read what it is told keeps nobody from the workspace', async () => {
    const profile = { title: 'Deaf', binary: 'sleep', command: ['sleep', '600'], prompt: 'input' }
    here.sh(`mkdir -p "$AW_HOME/agents.d"; echo '${JSON.stringify(profile)}' > "$AW_HOME/agents.d/deaf.json"`)
    here.sh('head -c 1000000 /dev/zero | tr "\\0" x > long.md')
    const deaf = here.start('run', '--id', 'deaf', '--agent', 'deaf', '@long.md')
    const ended = once(deaf, 'exit')
    await until('it runs', () => all().some(({ workspace, state }) => workspace === 'deaf/main' && state === 'running'))
    expect(here.aw('exec', 'deaf', '--', 'true').code).toBe(0)
    expect(here.aw('cancel', 'deaf', '--grace-ms', '0').code).toBe(0)
    expect((await ended)[0]).toBe(130)
    expect(last('deaf')).toMatchObject({ state: 'cancelled' })
  })

  test('what keeps it from running has codes of its own', () => {
    expect(here.aw('run', '--id', 'odd')).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('--agent') as string,
    })
    expect(here.aw('run', '--id', 'odd', 'do', 'it').code).toBe(125)
    expect(here.aw('run', '--id', 'odd', '--', 'no-such-program').code).toBe(127)
    expect(here.aw('run', '--id', 'odd', '--repo', '/nowhere', '--', 'true').code).toBe(125)
    expect(here.aw('logs', 'none').code).toBe(3)
  })

  test('a person leaves the live view with q', () => {
    const seen = here.onTerminal([{ until: 'ends this view', type: 'q' }], 'status')
    expect(seen).toMatchObject({ exit: 0, restored: true, missed: [] })
  })

  test('the live view shows what has changed since', () => {
    const script = 'while [ ! -e ../output/go ]; do sleep 0.05; done; exit 3'
    expect(here.aw('run', '--id', 'live', '--detach', '--', 'sh', '-c', script).code).toBe(0)
    const go = join(here.home, 'workspaces/live/main/output/go')
    const steps = [
      { until: '1 workspace, 1 running', run: `touch '${go}'` },
      { until: '1 workspace, 0 running', type: 'q' },
    ]
    const { seen, ...ended } = here.onTerminal(steps, 'status', '--task', 'live')
    expect(ended).toEqual({ exit: 0, restored: true, missed: [] })
    const pictures = seen.split('\u001b[2J').filter((text) => text.includes('live/main'))
    expect(pictures.at(0)).toContain('running')
    expect(pictures.at(-1)).toMatch(/failed.* 3 /)
  })

  test('what is in a folder is what it works on, and the folder stays as it is', () => {
    here.sh('mkdir -p pages/sub && echo one > pages/sub/page')
    const script = 'cat sub/page; echo two > sub/page; echo new > new'
    const { code, stdout, stderr } = here.aw('run', '--id', 'folder', '--from', './pages', '--', 'sh', '-c', script)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'one\n' })
    expect(stderr).toContain('1 added, 1 changed')
    expect(here.sh('cat pages/sub/page; ls pages').stdout).toBe('one\nsub\n')
    expect(json('show', 'folder')).toMatchObject({ source: { kind: 'folder' } })
  })

  test('what is not committed is left out, and told, also of several at once', () => {
    const repository = join(here.folder, 'site')
    const git = 'git -c user.name=Ada -c user.email=ada@example.com'
    expect(
      here.sh(`git init -q -b main '${repository}' && cd '${repository}' && echo '*.log' > .gitignore && echo a > a &&
        echo b > b && git add . && ${git} commit -qm first`).code,
    ).toBe(0)
    const told = (id: string, ...ref: string[]): string =>
      here.aw('run', '--id', id, '--repo', repository, ...ref, '--', 'true').stderr
    expect(told('clean')).not.toContain('committed')
    here.sh(`cd '${repository}' && git config core.fsmonitor 'touch ran' && echo c >> a && rm b && echo x > x.log &&
      mkdir new && echo 1 > new/1 && echo 2 > new/2 && echo s > s && git -c core.fsmonitor=false add s`)
    const note = `4 paths are not committed in ${repository}, and not in the workspace`
    expect(told('dirty')).toContain(`aw: ${note}`)
    const notes = [expect.stringContaining(note)]
    const started = here.aw('run', '--json', '--count', '2', '--id', 'many', '--repo', repository, '--', 'true').stdout
    const items = started.split('\n').filter((line) => line.includes('"started"'))
    expect(items.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ notes }, { notes }])
    // Whoever says which commit knows that it is one.
    expect(told('named', '--ref', 'main')).not.toContain('committed')
    expect(here.sh(`ls '${repository}'`).stdout).toBe('a\nnew\ns\nx.log\n')
  })

  test('a repository that cannot be had is a run that has failed, in a workspace that is kept, empty', () => {
    const repository = join(here.folder, 'repository')
    expect(here.sh(`git init -q '${repository}'`).code).toBe(0)
    const { code, stderr } = here.aw('run', '--id', 'lost', '--repo', repository, '--', 'true')
    expect(code).toBe(125)
    expect(stderr).toContain('lost/main is kept, empty')
    expect(last('lost')).toMatchObject({ state: 'failed', exit: null, problem: { code: 'source_failed' } })
    expect(events('lost').slice(-2)).toEqual(['workspace_source_failed', 'run_failed'])
    expect(json('show', 'lost')).toMatchObject({ state: 'failed' })
  })

  test('Ctrl-C cancels it, and what it did until then is kept', async () => {
    const child = here.start('run', '--id', 'int', '--', 'sh', '-c', 'echo half > half; echo up; exec sleep 600')
    await once(child.stdout, 'readable')
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([130, null])
    expect(last('int')).toMatchObject({ state: 'cancelled', exit: { signal: 'SIGTERM' } })
    expect(last('int')?.snapshot).not.toBeNull()
  })

  test.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    '%s leaves it to itself: it ends, and somebody sees to it',
    async (signal) => {
      const id = signal.toLowerCase()
      const script = 'echo up; while [ ! -e ../output/go ]; do sleep 0.05; done; echo over'
      const child = here.start('run', '--id', id, '--', 'sh', '-c', script)
      await once(child.stdout, 'readable')
      child.kill(signal)
      await once(child, 'exit')
      expect(last(id)).toMatchObject({ state: 'running' })
      const following = here.start('logs', id, '--follow')
      let seen = ''
      following.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
      expect(here.aw('fs', 'write', id, 'output/go', '--content', 'x').code).toBe(0)
      // Not its exit: what it wrote may come later.
      expect((await once(following, 'close'))[0]).toBe(0)
      expect(seen).toBe('up\nover\n')
      // Nobody asks anything: the log alone tells when it is there.
      await until('the end is in the log', () => events(id).includes('run_completed'))
      expect(json('show', id)).toMatchObject({ sandbox: null })
    },
  )

  test('one whose supervisor is killed has failed, and says so', async () => {
    expect(here.aw('run', '--id', 'killed', '--detach', '--', 'sleep', '600')).toMatchObject({
      code: 0,
      stdout: 'killed/main\n',
    })
    const box = (json('show', 'killed') as { sandbox: { id: string } }).sandbox.id
    process.kill(ownersOf(join(here.home, 'run', box)).supervisor.pid, 'SIGKILL')
    await until('it has failed', () => last('killed')?.state === 'failed')
    // Its sandbox was its own: whoever comes next does not miss it.
    expect(here.aw('exec', 'killed', '--', 'echo', 'fine')).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(here.aw('wait', 'killed').code).toBe(125)
    expect(last('killed')).toMatchObject({ problem: { code: 'lost' } })
    expect(here.aw('run', '--id', 'killed', '--', 'true').code).toBe(0)
  })

  test('where the sandbox that was started is gone, no other takes its place unasked', async () => {
    here.aw('create', 'walls')
    here.aw('start', 'walls')
    const box = (json('show', 'walls') as { sandbox: { id: string } }).sandbox.id
    process.kill(ownersOf(join(here.home, 'run', box)).supervisor.pid, 'SIGKILL')
    await until('it is gone', () => here.aw('run', '--id', 'walls', '--', 'true').code === 125)
    expect(last('walls')).toMatchObject({ state: 'failed', problem: { code: 'sandbox_gone' } })
    expect(here.aw('run', '--id', 'walls', '--', 'true').code).toBe(0)
  })

  test('a log that grows too long loses its oldest part, and tells how much', () => {
    const { code } = here.aw('--set', 'runs.log_mb=1', 'run', '--id', 'long', '--', 'sh', '-c', 'seq 1 600000')
    expect(code).toBe(0)
    const { stdout, stderr } = here.aw('logs', 'long')
    expect(stdout.endsWith('599999\n600000\n')).toBe(true)
    expect(stdout.length).toBeLessThan(2_000_000)
    expect(stderr).toMatch(/^aw: \d{6,} bytes of the output are missing here: /)
  })

  test('twenty at once: none is mixed up, and every state ends true though some of those who wait are killed', async () => {
    const children = Array.from({ length: 20 }, (_, at) => {
      const script = `echo ${at}; echo ${at} > who; sleep 0.3; exit ${at % 4 === 3 ? 1 : 0}`
      return here.start('run', '--id', `many/a${at}`, '--', 'sh', '-c', script)
    })
    const ends = children.map((child) => once(child, 'exit'))
    const [killed] = [children.slice(0, 5)]
    await Promise.all(killed.map((child) => once(child.stdout, 'readable')))
    for (const child of killed) child.kill('SIGKILL')
    await Promise.all(ends)
    const ids = children.map((_, at) => `many/a${at}`)
    await until(
      'all have ended',
      () => all().filter(({ workspace, ended_at }) => ids.includes(workspace) && ended_at !== null).length === 20,
    )
    for (const [at, id] of ids.entries()) {
      expect(last(id)).toMatchObject({
        state: at % 4 === 3 ? 'failed' : 'completed',
        exit: { code: at % 4 === 3 ? 1 : 0 },
      })
      expect(here.aw('fs', 'read', id, 'work/who').stdout).toBe(`${at}\n`)
      expect(here.aw('logs', id).stdout).toBe(`${at}\n`)
    }
    // Whoever was killed between the end and the log has left that to the next one who looks.
    expect(here.aw('recover').code).toBe(0)
    const boxes = readdirSync(join(here.home, 'run')).filter((name) => name.startsWith('box_'))
    const known = (json('list') as { sandbox: { id: string } | null }[]).flatMap(({ sandbox }) => sandbox?.id ?? [])
    expect(boxes.toSorted()).toEqual(known.toSorted())
  })

  test('several forks of one start, side by side', () => {
    here.aw('create', 'base')
    here.aw('fs', 'write', 'base', 'work/common', '--content', 'same')
    const script = 'cat common; echo; echo $AW_AGENT > mine; [ $AW_AGENT != main-2 ]'
    const { code, stdout, stderr } = here.aw('run', '--id', 'base', '--count', '3', '--', 'sh', '-c', script)
    expect(code).toBe(1)
    expect(stdout.trim().split('\n').toSorted()).toEqual([1, 2, 3].map((at) => `base/main-${at}\tsame`))
    const rows = stderr
      .trim()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 2))
    expect(rows).toEqual([
      ['base/main-1', 'completed'],
      ['base/main-2', 'failed'],
      ['base/main-3', 'completed'],
    ])
  })
})
