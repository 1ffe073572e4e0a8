/** What `npm run check` runs, side by side: each a program of this checkout that fails with a report. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { inRoot, root } from './root.ts'

export interface CheckResult {
  readonly name: CheckName
  readonly passed: boolean
  readonly seconds: number
  readonly output: string
}

/** The last one is left out where the whole test suite runs anyway. */
export const checks = {
  format: ['node_modules/oxfmt/bin/oxfmt', '--check'],
  lint: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'],
  types: ['node_modules/typescript/bin/tsc', '--noEmit'],
  'dead code': ['node_modules/knip/bin/knip.js', '--no-progress'],
  rules: ['node_modules/vitest/vitest.mjs', 'run', '--project', 'rules', '--reporter', 'dot'],
} as const satisfies Record<string, readonly string[]>

export type CheckName = keyof typeof checks

/** Runs them together; prints one line for each as it ends, then what the failed ones said. */
export async function runChecks(names: readonly CheckName[]): Promise<readonly CheckResult[]> {
  const results = await Promise.all(
    names.map(async (name) => {
      const result = await runCheck(name)
      console.log(`${result.passed ? 'ok    ' : 'FAILED'} ${name.padEnd(10)} ${result.seconds.toFixed(1)} s`)
      return result
    }),
  )
  for (const { name, output } of results.filter(({ passed }) => !passed)) console.log(`\n--- ${name}\n${output.trim()}`)
  return results
}

export async function runCheck(name: CheckName, folder = root): Promise<CheckResult> {
  const start = performance.now()
  const [program, ...args] = checks[name]
  const child = spawn(process.execPath, [inRoot(program), ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  const output = (await Promise.all([text(child.stdout), text(child.stderr)])).join('')
  return { name, passed: (await code) === 0, seconds: (performance.now() - start) / 1000, output }
}
