/** One entry in the operation table is enough: every door offers the operation without another edit. */
import { describe, expect, test } from 'vitest'
import { operation } from '../../src/api/operation.ts'
import { operationsPage } from '../../tools/docs/operations-page.ts'
import { boolean, choice, integer, object, optional, string } from '../../src/api/schema.ts'
import { operations, type Table } from '../../src/api/table.ts'
import { cliPage } from '../../tools/docs/cli-page.ts'
import { runCli } from '../support/cli.ts'
import { makeAw } from '../../src/client/facade.ts'
import type { Manager } from '../../src/ports/manager.ts'

const fake = operation({
  name: 'fake thing',
  kind: 'write',
  group: 'Care',
  routes: ['POST /workspaces/:id/fake-thing'],
  scope: 'admin',
  names: { id: 'workspace' },
  summary: 'Do a thing that is not there',
  details: 'It exists only in this test.',
  input: object({
    id: string('The workspace'),
    how_often: optional(integer('Times', { minimum: 1 })),
    manner: optional(choice(['gently', 'firmly'], 'In which way')),
  }),
  output: object({ done: boolean('Whether it was done'), manner: string('In which way') }),
  positional: ['id'],
  flags: { times: 'how_often' },
  errors: ['timeout'],
  examples: ['aw fake thing x --manner gently'],
})
const table: Table = [...operations, fake]
const answers = { 'fake thing': { done: true, manner: 'gently' } }
const parts = ['fake thing', 'manner', 'gently', 'Do a thing that is not there']

describe('the command line', () => {
  test('parses it', async () => {
    const result = await runCli(['fake', 'thing', 'x', '--manner=gently', '--times', '3'], { table, answers })
    expect(result).toMatchObject({ exit: 0, stderr: '' })
    expect(result.calls).toMatchObject([{ name: 'fake thing', input: { id: 'x', manner: 'gently', how_often: 3 } }])
  })

  test('shows its answer, in text and in JSON', async () => {
    const text = await runCli(['fake', 'thing', 'x'], { table, answers })
    expect(text.stdout).toBe('done\ttrue\nmanner\tgently\n')
    const json = await runCli(['fake', 'thing', 'x', '--json'], { table, answers })
    expect(JSON.parse(json.stdout)).toEqual({ done: true, manner: 'gently' })
  })

  test('checks it and suggests it', async () => {
    const wrong = await runCli(['fake', 'thing', 'x', '--manner', 'gentle'], { table, answers })
    expect(wrong).toMatchObject({ exit: 2, stderr: expect.stringContaining('Did you mean gently?') as string })
    const misspelt = await runCli(['fake', 'thign'], { table })
    expect(misspelt.stderr).toContain('Did you mean aw fake thing?')
  })

  test('explains it', async () => {
    const page = await runCli(['fake', 'thing', '--help'], { table })
    for (const part of ['aw fake thing ID', '--how-often, --times N', 'gently|firmly', 'timeout', ...fake.examples]) {
      expect(page.stdout).toContain(part)
    }
    expect((await runCli([], { table })).stdout).toContain('fake thing')
    expect((await runCli(['help', 'fake'], { table })).stdout).toContain('fake thing')
  })

  test.each(['bash', 'zsh', 'fish'])('completes it in %s', async (shell) => {
    const { stdout } = await runCli(['completion', shell], { table })
    for (const part of ['fake thing', 'manner', 'how-often', 'times', 'gently firmly']) expect(stdout).toContain(part)
  })
})

test.each([
  ['operations', operationsPage],
  ['command line', cliPage],
])('the reference of the %s has it', (_, page) => {
  for (const part of parts) expect(page(table)).toContain(part)
  expect(page()).not.toContain('fake thing')
})

test('the library offers it, and checks what it is given', async () => {
  const calls: unknown[] = []
  const call = async (...args: unknown[]): Promise<unknown> => (calls.push(args), answers['fake thing'])
  const aw = makeAw({ call } as unknown as Manager, table) as unknown as {
    fake: { thing: (id: string, input?: object) => Promise<unknown> }
  }
  expect(await aw.fake.thing('x', { manner: 'firmly' })).toEqual({ done: true, manner: 'gently' })
  expect(calls).toMatchObject([['fake thing', { id: 'x', manner: 'firmly' }, undefined]])
  await expect(aw.fake.thing('x', { manner: 'rudely' })).rejects.toMatchObject({ code: 'invalid_input' })
})
