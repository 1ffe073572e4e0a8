/** Commands in workspaces, from the built command line, with real walls around them. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { place, type Place } from './built-command.ts'

const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  let here: Place
  beforeAll(() => {
    here = place(user)
    for (const name of ['t/a', 't/b']) here.aw('create', name)
  })
  afterAll(() => {
    here.aw('stop', 't/a', 't/b')
    here[Symbol.dispose]()
  })

  test('both streams, the directory and the end of a command are its own', () => {
    const script = 'echo out; echo err >&2; pwd; exit 3'
    expect(here.aw('exec', 't/a', '--', 'sh', '-c', script)).toEqual({
      code: 3,
      stdout: 'out\n/workspace/work\n',
      stderr: 'err\n',
    })
    expect(here.aw('exec', 't/a', 'sh', '-c', 'kill -TERM $$')).toEqual({ code: 143, stdout: '', stderr: '' })
    expect(here.aw('exec', 't/a', '--timeout-ms', '300', 'sleep', '60')).toEqual({
      code: 124,
      stdout: '',
      stderr: expect.stringMatching(/^aw: timed out: it was ended after \d+\.\d s\n$/) as string,
    })
  })

  test('what keeps it from running has codes of its own', () => {
    expect(here.aw('exec', 't/a', 'no-such-program')).toMatchObject({ code: 127 })
    const line = here.aw('exec', 't/a', '--', 'echo one; echo two')
    expect(line).toMatchObject({ code: 127, stderr: expect.stringContaining("sh -c 'LINE'") as string })
    expect(here.aw('exec', 't', 'true').stderr).toContain('t means t/main; there are t/a, t/b')
    expect(here.aw('exec', 't/a', '/etc/passwd')).toMatchObject({ code: 126 })
    expect(here.aw('exec', 't/none', 'true')).toMatchObject({ code: 125 })
    expect(here.aw('exec', 't/a', '--cwd', 'nowhere', 'true')).toMatchObject({ code: 125 })
    expect(here.aw('exec', 't/a', '--nonsense', '--', 'true')).toMatchObject({ code: 125 })
  })

  test('an argument that is no text is refused, as it would arrive as another', () => {
    const { code, stderr } = here.sh(`aw exec t/a -- echo "$(printf 'a\\377')"`)
    expect([code, stderr]).toEqual([125, expect.stringContaining('not UTF-8')])
    expect(here.sh('aw exec t/a -- echo é\ufffd').stdout).toBe('é\ufffd\n')
  })

  test('bytes go in and come out as they are', () => {
    const data = randomBytes(3_000_000)
    const { code, stdout } = here.awWith(data, 'exec', 't/a', '--', 'sha256sum')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${sha256(data)}  -\n` })
    const back = here.sh(
      `head -c 3000000 /dev/urandom > data; aw exec t/a cat < data | sha256sum; sha256sum < data; aw exec t/a wc -c < /dev/null`,
    )
    const [one, other, nothing] = back.stdout.trim().split('\n')
    expect(one).toBe(other)
    expect(nothing).toBe('0')
  })

  test('a reader that leaves ends the command, without a word', () => {
    const result = here.sh('aw exec t/a yes | head -n 1; echo "${PIPESTATUS[0]}"')
    expect(result).toEqual({ code: 0, stdout: 'y\n141\n', stderr: '' })
    expect(here.aw('history', 't/a', '--limit', '1', '--json').stdout).toContain('"state":"failed"')
  })

  test('a reader that is slow makes the command wait, and little is held', async () => {
    const size = 150_000_000
    const child = here.start('exec', 't/a', '--', 'head', '-c', String(size), '/dev/zero')
    child.stdin.end()
    await once(child.stdout, 'readable')
    let before = -1
    for (let now = peakOf(child.pid); now !== before; now = peakOf(child.pid)) {
      before = now
      await sleep(500)
    }
    expect(child.exitCode).toBeNull()
    let read = 0
    for await (const chunk of child.stdout) read += (chunk as Buffer).length
    expect(read).toBe(size)
    expect(before).toBeLessThan(size)
  })

  test('JSON is an object a line', () => {
    const { code, stdout } = here.aw('exec', 't/a', '--json', '--', 'sh', '-c', 'echo hi; exit 4')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(code).toBe(4)
    expect(lines).toMatchObject([
      { type: 'started', workspace: 't/a', isolation: 'namespace' },
      { type: 'stdout', data: 'aGkK' },
      { type: 'exit', code: 4, signal: null, timed_out: false, output_cut: false },
    ])
  })

  test('in all workspaces of a task at once', () => {
    const { code, stdout, stderr } = here.aw('exec', '--all', 't', 'sh', '-c', 'echo $AW_AGENT; [ $AW_AGENT = b ]')
    expect(code).toBe(1)
    expect(stdout.split('\n').toSorted()).toEqual(['', 't/a\ta', 't/b\tb'])
    expect(stderr).toBe('t/a: exit 1\n1 of 2 ended with 0\n')
  })

  test('variables are given, secrets as files, and neither is shown', () => {
    here.aw('env', 'set', 't/a', 'CI=1', 'WORDS=two words')
    here.awWith('hush\n', 'env', 'set', 't/a', '--secret', 'API_KEY')
    const listed = here.aw('env', 'list', 't/a').stdout
    expect(listed).toBe('API_KEY\tsecret, as a file: API_KEY_FILE\nCI\tplain\nWORDS\tplain\n')
    const script = 'echo "$CI $WORDS [$API_KEY]"; cat "$API_KEY_FILE"; stat -c %a "$API_KEY_FILE"'
    expect(here.aw('exec', 't/a', '-e', 'CI=2', 'sh', '-c', script).stdout).toBe('2 two words []\nhush400\n')
    expect(here.sh('grep -c hush home/log.db; aw events --json | grep -c hush').stdout).toBe('0\n0\n')
    expect(here.aw('env', 'unset', 't/a', 'CI', 'WORDS', 'API_KEY')).toMatchObject({ code: 0, stdout: '' })
    expect(here.aw('exec', 't/a', 'sh', '-c', 'echo "[$CI$API_KEY_FILE]"').stdout).toBe('[]\n')
  })

  test('what a command did is taken back', () => {
    const each = ['--set', 'sandbox.snapshot=each-exec']
    here.awWith('precious', 'fs', 'write', 't/b', 'work/file')
    expect(here.aw(...each, 'exec', 't/b', 'sh', '-c', 'rm file; echo x > other').code).toBe(0)
    const [row] = JSON.parse(here.aw('history', 't/b', '--limit', '1', '--json').stdout) as { files_changed: number }[]
    expect(row?.files_changed).toBe(2)
    expect(here.aw('undo', 't/b').code).toBe(0)
    expect(here.aw('exec', 't/b', 'sh', '-c', 'cat *').stdout).toBe('precious')
  })

  test('a sandbox that stays: started, found again, reached, stopped', async () => {
    expect(here.aw('start', 't/a').stdout).toBe('t/a is started: namespace, network none, at /workspace\n')
    expect(here.aw('list').stdout).toMatch(/^t\/a\trunning\t/)
    expect(here.aw('start', 't/a')).toMatchObject({ code: 4 })
    const server = `nohup python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 3000)); s.listen()
print("listening", flush=True)
while True:
    c, _ = s.accept(); data = b""
    while True:
        d = c.recv(65536)
        if not d: break
        data += d
    c.sendall(data.upper()); c.close()
' > log 2>&1 & until grep -q listening log; do sleep 0.1; done`
    expect(here.aw('exec', 't/a', 'bash', '-c', server)).toMatchObject({ code: 0 })
    expect(here.awWith('by hand', 'connect', 't/a', '3000')).toEqual({ code: 0, stdout: 'BY HAND', stderr: '' })
    const forward = here.start('forward', 't/a', '0:3000')
    const [line] = (await once(forward.stdout, 'data')) as [Buffer]
    const [, port] = /^127\.0\.0\.1:(\d+)\n$/.exec(line.toString()) ?? []
    const answers = ['one', 'two'].map(async (text) => {
      const socket = createConnection({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      socket.end(text)
      let heard = ''
      for await (const chunk of socket) heard += String(chunk)
      return heard
    })
    expect(await Promise.all(answers)).toEqual(['ONE', 'TWO'])
    const ended = once(forward, 'exit')
    forward.kill('SIGINT')
    expect(await ended).toEqual([130, null])
    expect(here.aw('stop', 't/a').stdout).toBe('t/a is stopped\n')
    expect(here.aw('stop', 't/a')).toEqual({ code: 0, stdout: 't/a has no sandbox\n', stderr: '' })
    expect(here.aw('connect', 't/a', '3000')).toMatchObject({ code: 4 })
    expect(here.aw('forward', 't/a', '3000')).toMatchObject({ code: 4 })
  })
})

/** The most memory that a process had, in bytes. */
const peakOf = (pid: number | undefined): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
