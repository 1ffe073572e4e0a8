/** Set-up commands of templates, from the built command line. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { place, type Place } from './built-command.ts'

const ctrlC = '\u0003'

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  let here: Place
  let from: string
  beforeAll(() => {
    here = place(user)
    from = join(here.folder, 'site')
    mkdirSync(from)
    writeFileSync(join(from, 'page'), 'hello\n')
    writeFileSync(join(from, 'lock'), '1\n')
  })
  afterAll(() => here[Symbol.dispose]())

  const make = (name: string, ...setup: string[]): string[] => {
    const flags = setup.flatMap((line) => ['--setup', line])
    return ['template', 'create', name, '--from', from, ...flags]
  }

  test('it is made, shown, taken over, and its log is what it wrote', () => {
    const made = here.aw(...make('site', 'echo one, two; echo three >&2', 'mkdir made'), '--setup-input', 'lock')
    expect(made).toMatchObject({ code: 0, stdout: 'site@1\n', stderr: '' })
    writeFileSync(join(from, 'page'), 'changed\n')
    expect(here.aw('template', 'update', 'site')).toMatchObject({ code: 0, stdout: 'site@2\n' })
    const shown = here.aw('template', 'show', 'site').stdout
    expect(shown).toMatch(/^set-up\techo one, two; echo three >&2\n\tmkdir made\n\tnamespace, network: none$/m)
    expect(shown).toMatch(/^depends on\tlock\n\tlock \([0-9a-f]{12}\)$/m)
    expect(shown).toMatch(/^ran\t.*Z, [0-9.]+ s, for version 1; taken over$/m)
    const log = '$ echo one, two; echo three >&2\none, two\nthree\n$ mkdir made\n'
    expect(here.aw('template', 'log', 'site')).toMatchObject({ code: 0, stdout: log })
    expect(here.aw('template', 'log', 'site@2', '--quiet').stdout).toBe('one, two\nthree\n')
    expect(JSON.parse(here.aw('template', 'log', 'site', '--json').stdout)).toMatchObject({
      version: 1,
      commands: [{ output: Buffer.from('one, two\nthree\n').toString('base64') }, { output: '' }],
    })
    const path = here.aw('create', 'x', '--template', 'site').stdout.trim()
    expect(readdirSync(join(path, 'work')).toSorted()).toEqual(['lock', 'made', 'page'])
  })

  test('a failure has the last lines where nobody saw them, and the log keeps all', () => {
    const { code, stdout, stderr } = here.aw(
      ...make('broken', String.raw`printf 'a\033[2Jb\nno such package\n'; exit 4`),
    )
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^aw: The set-up of broken failed: .* ended with exit code 4: no such package\n/)
    expect(stderr).toContain('  a\\x1b[2Jb\n  no such package\n')
    expect(stderr).toContain('hint: See all that it wrote: aw template log broken')
    expect(here.aw('template', 'show', 'broken').code).toBe(3)
    expect(here.aw('template', 'log', 'broken')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no such package\n') as unknown,
      stderr: expect.stringContaining('exit code 4') as unknown,
    })
  })

  test('on a terminal it is seen as it is written, nothing of it moves the cursor, and Ctrl-C ends it', () => {
    const line = String.raw`printf 'here\033[2Jthere\n'; sleep 600`
    const steps = [{ until: 'here\\x1b[2Jthere\r\n', type: ctrlC }, { until: 'the template slow was not made' }]
    const result = here.onTerminal(steps, ...make('slow', line))
    expect(result).toMatchObject({ exit: 130, restored: true, missed: [] })
    expect(here.aw('template', 'list', '--quiet').stdout).toBe('site\n')
    expect(readdirSync(join(here.home, 'run')).filter((name) => !name.startsWith('.'))).toEqual([])
    expect(readdirSync(join(here.home, 'storage', 'tmp'))).toEqual([])
  })
})
