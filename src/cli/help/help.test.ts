import { describe, expect, test } from 'vitest'
import { operations } from '../../api/table.ts'
import { errorTable } from '../../domain/errors.ts'
import { shownFlags } from '../input/flags.ts'
import { runCli } from '../../../test/support/cli.ts'

const help = async (...args: string[]): Promise<string> => {
  const result = await runCli(args)
  expect(result).toMatchObject({ exit: 0, stderr: '', connections: [] })
  return result.stdout
}

test('aw alone shows every command', async () => {
  const text = await help()
  for (const { name, summary } of operations) expect(text).toContain(`${name.padEnd(15)}  ${summary.slice(0, 40)}`)
  expect(text).toContain('aw tour')
  expect(await help('help')).toBe(text)
  expect(await help('--help')).toBe(text)
})

describe.each(operations.map((entry) => [entry.name, entry] as const))('%s', (name, operation) => {
  test('its page is complete, from every side', async () => {
    const text = await help('help', ...name.split(' '))
    expect(text).toContain(operation.summary)
    for (const flag of shownFlags(operation)) for (const spelling of flag.names) expect(text).toContain(spelling)
    for (const example of operation.examples) expect(text).toContain(example)
    for (const code of operation.errors) expect(text).toContain(code)
    expect(await help(...name.split(' '), '--help')).toBe(text)
    expect(await help(...name.split(' '), '--nonsense', '-h')).toBe(text)
    expect(await help('--help', ...name.split(' '))).toBe(text)
  })
})

test('lines fit the terminal', async () => {
  const result = await runCli(['help', 'create'], { terminal: true, env: { NO_COLOR: '1' } })
  for (const line of result.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
})

test('groups, exit codes and the commands of the command line itself', async () => {
  expect(await help('fs', '--help')).toContain('fs read')
  const codes = await help('help', 'exit-codes')
  for (const code of Object.keys(errorTable)) expect(codes).toContain(code)
  for (const code of [125, 126, 127]) expect(codes).toMatch(new RegExp(`${code}\\s+aw exec, shell, run, wait, git: `))
  for (const name of ['help', 'tour', 'completion']) expect(await help(name, '--help')).toContain(`aw ${name}`)
  expect((await runCli(['help', 'nonsense'])).exit).toBe(2)
  expect((await runCli(['help', 'snapshot', 'nonsense'])).exit).toBe(2)
})

test('a command that others begin with tells of them', async () => {
  const text = await help('help', 'snapshot')
  for (const part of ['aw snapshot ID', 'snapshot label', 'snapshot remove']) expect(text).toContain(part)
  expect(await help('help', 'fork')).toMatch(/aw fork ID \[TO\.\.\.\][^]*several may be given/)
})

test('the version', async () => {
  expect(await help('--version')).toMatch(/^aw \d+\.\d+\.\d+/)
  expect(await help('-V')).toBe(await help('list', '--version'))
  expect(JSON.parse(await help('--json', '--version'))).toEqual({ version: expect.any(String) as string })
})

test('commands of sandboxes that have no operation of their own stand with the others, with all that theirs have', async () => {
  const all = await help('help')
  const [, sandboxes = ''] = /\nSandboxes\n([^]*?)\n\n/.exec(all) ?? []
  for (const name of ['exec', 'shell', 'forward']) expect(sandboxes).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(all.slice(all.indexOf('This command line'))).not.toMatch(/^  (shell|forward) /m)
  for (const name of ['shell', 'forward']) {
    const page = await help('help', name)
    for (const part of ['Flags for every command', 'Errors', 'sandbox_gone']) expect(page).toContain(part)
  }
})

test('what a program is run with: values have their names, the program is no flag, and the exit code is explained', async () => {
  const page = await help('help', 'exec')
  for (const part of ['--all TASK', '--allow HOST', '--shared NAME', 'exit 125, whatever the code'])
    expect(page).toContain(part)
  for (const name of ['exec', 'shell']) expect(await help('help', name)).not.toContain('--argv')
  expect(page.slice(page.indexOf('Errors'))).not.toMatch(/exit [0-9]\b/)
})

test('what stands for a value says what is wanted there, not the name of the flag once more', async () => {
  const create = await help('help', 'create')
  for (const flag of ['--generate TEXT', '--from-workspace WORKSPACE', '--at SNAPSHOT', '--exclude PATTERN'])
    expect(create).toContain(`${flag} `)
  expect(await help('help', 'template', 'create')).toMatch(/--setup COMMAND [^]*--setup-input PATH /)
  expect(await help('help', 'undelete')).toContain('--as NAME ')
})
