import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const config = fileURLToPath(new URL('btrfs/vitest.config.ts', import.meta.url))
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const asNobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

/** The mount is in a namespace of its own and goes with the tests that are run there, however they end. */
const script = `
truncate -s 2G "$1.img"
mkfs.btrfs -q "$1.img" >/dev/null
mount -o loop,noatime "$1.img" "$1"
rm "$1.img"
mkdir "$1/home" "$1.cache"
chown "$2:$2" "$1/home" "$1.cache"
export AW_TEST_BTRFS="$1/home" AW_TEST_CACHE="$1.cache" HOME="$1.cache"
shift 2
exec "$@"`

it.each([
  ['root', 0, []],
  ['an ordinary user', 65534, asNobody],
] as const)('btrfs as %s', (_, uid, become) => {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-btrfs-'))
  fs.chmodSync(base, 0o755)
  onTestFinished(() => {
    for (const path of [base, `${base}.img`, `${base}.cache`]) fs.rmSync(path, { recursive: true, force: true })
  })
  const program = [
    ...become,
    process.execPath,
    vitest,
    'run',
    '--config',
    config,
    '--configLoader',
    'native',
    '--reporter',
    'json',
  ]
  const args = ['--mount', 'sh', '-ec', script, 'sh', base, String(uid), ...program]
  const env = { PATH: process.env['PATH'], AW_TEST_ONLY: process.env['AW_TEST_ONLY'] }
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8', env, maxBuffer: 2 ** 28 })
  const report = resultsIn(stdout)
  expect(report?.failures ?? [stdout, stderr]).toEqual([])
  expect(report?.passed).toBeGreaterThan(100)
})

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { status: string; fullName: string; failureMessages: string[] }[]
  }[]
}

function resultsIn(stdout: string): { passed: number; failures: string[] } | undefined {
  const start = stdout.indexOf('{')
  if (start === -1) return undefined
  const { numPassedTests, testResults } = JSON.parse(stdout.slice(start)) as Report
  const failures = testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults
      .filter(({ status }) => status !== 'passed')
      .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`),
  ])
  return { passed: numPassedTests, failures }
}
