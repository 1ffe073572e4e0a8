import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadConfig } from './load.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'aw-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const load = () => loadConfig({ home, env: {}, cwd: home })
const refused = (message: string): unknown => expect.objectContaining({ code: 'invalid_config', message })

it.each([
  ['[trash]\nretention_days =\n', 'line 2, column 17: invalid value'],
  ['[space]\nbudget_mb = 99999999999999999999\n', 'line 2, column 13: integer value cannot be represented losslessly'],
  ['[space]\n[space]\n', 'line 2, column 2: trying to redefine an already defined table or value'],
])('what is wrong with %j is told in one line, with where it is', async (text, told) => {
  const file = join(home, 'aw.toml')
  writeFileSync(file, text)
  await expect(load()).rejects.toEqual(refused(`${file} is not valid TOML: ${told}`))
})

it('a directory in the place of the file is told as one', async () => {
  const file = join(home, 'aw.toml')
  mkdirSync(file)
  await expect(load()).rejects.toEqual(refused(`${file} is a directory`))
})

it('a number that JSON does not know is told as it was written', async () => {
  const file = join(home, 'aw.toml')
  writeFileSync(file, '[space]\nbudget_mb = nan\n')
  await expect(load()).rejects.toEqual(
    refused(`space.budget_mb is NaN (${file}, line 2); it must be a whole number, 0 or more, at most 999999999999`),
  )
})

it.each([
  ['[trash]\n# days\nretention_days = "7"\n', 'trash.retention_days is "7"', 3],
  ['[sandbox]\nallow = "*"', 'sandbox.allow is "*"', 2],
  ['\r\n\r\ntrash.retention_days = true\r\n', 'trash.retention_days is true', 3],
  ['trash = { retention_days = [] }', 'trash.retention_days is []', 1],
  ['[git]\nuser_name = """\na\nb"""\n[trash]\n', String.raw`git.user_name is "a\nb"`, 4],
  ['[trash]\n\nretention_day = 7', 'There is no setting trash.retention_day', 3],
])('%j is refused with the line that it stands on', async (text, said, line) => {
  const file = join(home, 'aw.toml')
  writeFileSync(file, text)
  const message = expect.stringContaining(`${said} (${file}, line ${line})`) as string
  const data = expect.objectContaining({ origin: 'file', file, line }) as object
  await expect(load()).rejects.toEqual(expect.objectContaining({ code: 'invalid_config', message, data }))
})
