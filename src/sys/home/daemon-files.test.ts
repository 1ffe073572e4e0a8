import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('a log that has grown long begins anew, and what it held is kept beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'aw-log-'))
  const log = join(folder, 'daemon.log')
  try {
    const script = `
      import { rotateLog } from '${import.meta.dirname}/daemon-files.ts'
      const say = (text) => process.stderr.write(text + '\\n')
      say('one')
      console.log(rotateLog('${log}', 100), rotateLog('${folder}/another', 1))
      say('two '.repeat(100))
      console.log(rotateLog('${log}', 100))
      say('three')`
    const written = openSync(log, 'a')
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', written],
    })
    closeSync(written)
    expect(stdout).toBe('false false\ntrue\n')
    expect(readFileSync(log, 'utf8')).toBe('three\n')
    expect(readFileSync(`${log}.1`, 'utf8')).toBe(`one\n${'two '.repeat(100)}\n`)
    expect(existsSync(join(folder, 'another'))).toBe(false)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
