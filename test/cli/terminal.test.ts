/** Commands on a terminal: keys, sizes, Ctrl-C, and the terminal as it was afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { place, type Place } from './built-command.ts'

const ctrlC = '\u0003'
const untilKilled = 'echo ready; while :; do sleep 0.1; done'

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  let here: Place
  beforeAll(() => {
    here = place(user)
    here.aw('create', 'x')
  })
  afterAll(() => here[Symbol.dispose]())

  test('a shell: keys, Ctrl-C for what runs in it, the size of the window and its changes, its exit code', () => {
    const resized = 'until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; stty size; exit 5\r'
    const steps = [
      { until: 'x/main:/workspace/work$ ', type: 'echo $SHELL; stty size; echo $TERM; PS1=A$((1+1))B; cat\r' },
      { until: '/bin/bash\r\n30 100\r\nxterm\r\n', type: 'typed\r' },
      { until: 'typed\r\ntyped\r\n', type: ctrlC },
      { until: 'A2B', size: [40, 120] as const, type: resized },
      { until: '40 120\r\n' },
    ]
    expect(here.onTerminal(steps, 'shell', 'x')).toMatchObject({ exit: 5, restored: true, missed: [] })
  })

  test('another program, and what it writes is not changed on the way', () => {
    const steps = [{ until: 'a\nb\r\n\u001b[2J', type: 'q' }]
    const draw = String.raw`stty raw -echo; printf 'a\nb\r\n\033[2J'; dd bs=1 count=1 2>/dev/null | od -c; exit 7`
    const result = here.onTerminal(steps, 'shell', 'x', '--', 'sh', '-c', draw)
    expect(result).toMatchObject({ exit: 7, restored: true, missed: [] })
  })

  test('exec -t has a terminal, exec has none', () => {
    const asked = ['sh', '-c', 'test -t 0 && test -t 1']
    expect(here.onTerminal([], 'exec', '-t', 'x', ...asked)).toMatchObject({ exit: 0, restored: true })
    expect(here.onTerminal([], 'exec', 'x', ...asked)).toMatchObject({ exit: 1, restored: true })
    expect(here.aw('exec', '-t', 'x', 'sh', '-c', 'test -t 1').code).toBe(0)
  })

  test('Ctrl-C is for the command; a second one ends a command that did not mind', () => {
    const minds = `trap 'echo minded; exit 9' INT; ${untilKilled}`
    const steps = [{ until: 'ready', type: ctrlC }]
    expect(here.onTerminal(steps, 'exec', 'x', 'sh', '-c', minds)).toMatchObject({
      exit: 9,
      restored: true,
      missed: [],
    })
    const ignores = `trap 'echo ignored' INT; ${untilKilled}`
    const twice = [...steps, { until: 'ignored', type: ctrlC }]
    expect(here.onTerminal(twice, 'exec', 'x', 'sh', '-c', ignores)).toMatchObject({ exit: 130, missed: [] })
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('%s of ours ends it, and the terminal is in order', (kill, exit) => {
    const steps = [{ until: 'ready', kill }]
    const result = here.onTerminal(steps, 'exec', '-t', 'x', 'sh', '-c', `trap '' HUP TERM; ${untilKilled}`)
    expect(result).toMatchObject({ exit, restored: true, missed: [] })
    expect(here.aw('show', 'x').stdout).not.toContain('commands')
  })

  test('what aw itself says is said on a terminal that is in order', () => {
    const result = here.onTerminal([], 'exec', '-t', 'x', 'no-such-program')
    expect(result).toMatchObject({ exit: 127, restored: true })
    expect(result.seen).toContain('no-such-program could not be started')
    const late = here.onTerminal([], 'exec', '-t', '--timeout-ms', '300', 'x', 'sleep', '60')
    expect(late).toMatchObject({ exit: 124, restored: true })
    expect(late.seen).toMatch(/timed out: it was ended after \d+\.\d s/)
  })

  test('a secret is typed unseen', () => {
    const steps = [{ until: '(not shown): ', type: 'hush\r' }]
    const result = here.onTerminal(steps, 'env', 'set', 'x', '--secret', 'KEY')
    expect(result).toMatchObject({ exit: 0, restored: true, missed: [] })
    expect(result.seen).not.toContain('hush')
    expect(here.aw('exec', 'x', 'sh', '-c', 'cat $KEY_FILE').stdout).toBe('hush')
  })

  test('without a terminal there is no shell', () => {
    expect(here.aw('shell', 'x')).toMatchObject({ code: 125, stdout: '' })
    expect(here.aw('shell', 'x').stderr).toContain('aw exec x -- COMMAND')
  })
})
