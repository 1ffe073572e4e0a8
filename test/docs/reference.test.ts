import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { operations, type Table } from '../../src/api/table.ts'
import { builtins } from '../../src/cli/builtins.ts'
import { runCli } from '../support/cli.ts'
import { referencePages } from '../../tools/docs/main.ts'
import { inRoot } from '../../tools/root.ts'

describe('the reference is in step with the tables', () => {
  test.each(Object.entries(referencePages()))('%s (if this fails: npm run docs)', async (name, text) => {
    expect(await readFile(inRoot(`docs/reference/${name}`), 'utf8')).toBe(text)
  })

  test('no page is left over', async () => {
    expect((await readdir(inRoot('docs/reference'))).sort()).toEqual(Object.keys(referencePages()).sort())
  })
})

/** Lets the shell read the example and tells with which words `aw` would be called. */
async function wordsOf(example: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'aw-example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const name of ['prompt.md', 'key', 'disk.img']) await writeFile(join(folder, name), 'a prompt')
  const record = `aw() { printf '%s\\n' "$@" >'${join(folder, 'words')}'; }; HOME='${folder}'; PROMPT='a prompt'; mkdir -p ~/.config/fish/completions\n`
  await promisify(execFile)('bash', ['--norc', '-c', record + example], { cwd: folder }).catch(() => undefined)
  return (await readFile(join(folder, 'words'), 'utf8')).trimEnd().split('\n')
}

const examples = [
  ...(operations as Table).flatMap(({ name, examples }) => examples.map((example) => ({ name, example }))),
  ...builtins.flatMap(({ name, examples }) => examples.map((example) => ({ name, example }))),
]

/** These would do something to the machine, or need a terminal or a sandbox; they have tests of their own. */
const reallyDone = ['tour', 'init', 'deinit', 'shell', 'git', 'forward', 'hook', 'mcp', 'serve']

describe('every example is a command line that works', () => {
  test.each(examples.filter(({ name }) => !reallyDone.includes(name)))('$example', async ({ name, example }) => {
    const isStream = (operations as Table).some((entry) => entry.name === name && entry.form === 'stream')
    const answers = {
      [name]: isStream ? [] : { items: [], results: [], failed: [], forks: [], exit: null, problem: null },
    }
    const result = await runCli(['--json', ...(await wordsOf(example))], { answers })
    expect(result.stderr).toBe('')
    const isBuiltin = builtins.some((entry) => entry.name === name)
    expect(result.calls.map((call) => call.name)).toEqual(isBuiltin ? [] : [name])
  })
})
