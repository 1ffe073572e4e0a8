/**
 * `npm test`: the checks, then every test, then one line that counts both. A test that is skipped fails the run: what
 * cannot run here has to say so by failing. With arguments it is a run of some tests only, as vitest takes them.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checks, runChecks, type CheckName } from './checks.ts'
import { inRoot } from './root.ts'
import { closingLine, countTests, isGood, type Counts, type VitestReport } from './test-counts.ts'

const some = process.argv.slice(2)
const checked = some.length > 0 ? [] : await runChecks(checksOutsideTheTests())
const tested = await runTests(some)

const counts: Counts = {
  passed: tested.passed + checked.filter(({ passed }) => passed).length,
  failed: tested.failed + checked.filter(({ passed }) => !passed).length,
  skipped: tested.skipped,
}
const good = isGood(counts, some.length === 0)
if (!good && counts.failed === 0) console.log('A test was skipped, and none may be: the run fails')
process.exitCode = good ? 0 : 1
console.log(closingLine(counts))

function checksOutsideTheTests(): CheckName[] {
  return (Object.keys(checks) as CheckName[]).filter((name) => name !== 'rules')
}

async function runTests(some: readonly string[]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'aw-test-'))
  const report = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const vitest = spawn(process.execPath, [inRoot('node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...some], {
    stdio: 'inherit',
  })
  process.on('SIGINT', () => {})
  const exitCode = await new Promise<number | null>((resolve, reject) => vitest.on('error', reject).on('exit', resolve))
  const text = await readFile(report, 'utf8').catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
  return countTests(text === undefined ? undefined : (JSON.parse(text) as VitestReport), exitCode)
}
