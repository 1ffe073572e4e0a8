/** Pipes, terminals and signals, as a shell has them. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { place } from './built-command.ts'

test('a reader that leaves early ends the command quietly', () => {
  using here = place()
  here.aw('create', 'a')
  here.awWith(Buffer.alloc(1_000_000, 'x'), 'fs', 'write', 'a', 'work/large')
  const result = here.sh('aw fs read a work/large | head -c 3; echo " ${PIPESTATUS[0]}"; aw help | head -n 0')
  expect(result).toEqual({ code: 0, stdout: 'xxx 0\n', stderr: '' })
  const streamed = here.sh('aw fs download a work/large | head -c 3; echo " ${PIPESTATUS[0]}"')
  expect(streamed).toEqual({ code: 0, stdout: 'xxx 0\n', stderr: '' })
})

test('a file goes in and out through pipes, byte for byte', () => {
  using here = place()
  here.aw('create', 'a')
  here.sh('head -c 3000000 /dev/urandom > file')
  expect(here.sh('cat file | aw fs upload a work/d/file && aw fs download a work/d/file | cmp - file')).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
  expect(here.sh('aw fs upload a work/d/file --size 5 < file')).toMatchObject({ code: 2, stdout: '' })
  expect(here.sh('aw fs upload a work/small --json <<< hello').stdout).toContain('"size":6')
  expect(here.aw('fs', 'download', 'a', 'work/small', '--offset', '1', '--length', '3').stdout).toBe('ell')
  const [line] = here.aw('fs', 'download', 'a', 'work/small', '--json').stdout.split('\n')
  expect(JSON.parse(line ?? '')).toMatchObject({ size: 6, offset: 0, data: 'aGVsbG8K' })
  expect(here.aw('fs', 'download', 'a', 'work').code).toBe(5)
})

test('a full disk below standard output is told', () => {
  using here = place()
  here.aw('create', 'a')
  const told = 'aw: The output could not be written: the disk that it goes to is full\n'
  for (const [line, code] of [
    ['list', 7],
    ['snapshot a', 7],
    ['exec a -- echo hi', 125],
  ] as const)
    expect(here.sh(`aw ${line} > /dev/full`)).toMatchObject({ code, stderr: expect.stringContaining(told) as string })
  // Where nothing can be said, the code says it.
  expect(here.sh('aw list > /dev/full 2> /dev/full').code).toBe(7)
  expect(here.sh('aw show none 2> /dev/full').code).toBe(3)
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends following, without a word', async (signal) => {
  using here = place()
  here.aw('create', 'a')
  const child = here.start('events', '--follow', '--json')
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  child.kill(signal)
  expect(await ended).toEqual([130, null])
  expect(stderr).toBe('')
})

test.each(['write', 'upload'])('one signal is enough while fs %s waits for its input', async (command) => {
  using here = place()
  here.aw('create', 'a')
  const child = here.start('fs', command, 'a', 'work/file')
  // More than a pipe holds: who has taken it has begun to read, and listens.
  await new Promise((resolve) => child.stdin.write(Buffer.alloc(600_000, 'x'), resolve))
  const ended = once(child, 'exit')
  child.kill('SIGINT')
  expect(await ended).toEqual([130, null])
  expect(here.aw('fs', 'stat', 'a', 'work/file').code).toBe(3)
})

test('what was left out of a copy is said on standard error, and the path alone on standard output', () => {
  using here = place()
  here.sh('mkdir source; mkfifo source/pipe; echo x > source/file')
  const { code, stdout, stderr } = here.aw('create', 'a', '--from', 'source')
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${here.home}/workspaces/a/main\n` })
  expect(stderr).toBe('aw: 1 of the source not copied: pipe (fifo)\n')
})

test('a .git that was left out is said with what to do about it', () => {
  using here = place()
  here.sh('mkdir linked; echo "gitdir: /elsewhere/.git/worktrees/linked" > linked/.git; echo x > linked/file')
  const { code, stderr } = here.aw('create', 'a', '--from', 'linked')
  expect(code).toBe(0)
  expect(stderr).toContain('aw: 1 of the source not copied: .git (foreign_git); ')
  expect(stderr).toContain('--repo PATH')
})

test('following shows what happens next', async () => {
  using here = place()
  here.aw('create', 'a')
  const child = here.start('events', '--follow', '--task', 'b')
  let seen = ''
  const shown = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      seen += String(chunk)
      if (seen.includes('workspace_created\tb/main')) resolve()
    })
  })
  here.aw('create', 'b')
  const ended = once(child, 'exit')
  await Promise.race([shown, ended])
  child.kill('SIGINT')
  await ended
  expect(seen).toContain('workspace_created\tb/main')
  expect(seen).not.toContain('a/main')
})

/** `script` gives the command a terminal and tells what it wrote there. */
const onTerminal = (command: string): string =>
  `stty() { :; }; script -qec 'node "$AW" ${command}' /dev/null < /dev/null | tr -d '\\r'`

test('a terminal gets a table, colours and hints; NO_COLOR is respected', () => {
  using here = place()
  expect(here.sh(onTerminal('list')).stdout).toContain('No workspaces yet')
  here.aw('create', 'fix-login/claude')
  const list = here.sh(onTerminal('list')).stdout
  expect(list).toContain('NAME')
  expect(list).toContain('\u001b[32mready')
  const plain = here.sh(`export NO_COLOR=1; ${onTerminal('list')}`).stdout
  expect(plain).toMatch(/^NAME +STATE +SIZE +AGE +SOURCE\nfix-login\/claude +ready/)
  expect(here.sh(onTerminal('show nope')).stdout).toContain('\u001b[31maw:')
  expect(here.sh(onTerminal('show fix-login/claude --json')).stdout).toContain('\n  "workspace_id": "fix-login/claude"')
  expect(here.sh(onTerminal('destroy fix-login/claude')).stdout).toContain('aw undelete fix-login/claude')
})
