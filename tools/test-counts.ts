/** What a run of vitest came to, from its JSON report and its exit code. */

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

/** A file that cannot be loaded, an error outside the tests and a run without a report each count as one failure. */
export function countTests(report: VitestReport | undefined, exitCode: number | null): Counts {
  if (!report) return { passed: 0, failed: 1, skipped: 0 }
  const filesNotLoaded = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  )
  const failed = report.numFailedTests + filesNotLoaded.length
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

/** A run of everything is good only without a skipped test; a run of some leaves out the others by itself. */
export const isGood = ({ failed, skipped }: Counts, ranEverything: boolean): boolean =>
  failed === 0 && (skipped === 0 || !ranEverything)

export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
