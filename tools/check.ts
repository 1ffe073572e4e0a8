/** `npm run check`: everything that can be said about the tree without running the product, in seconds. */
import { checks, runChecks, type CheckName } from './checks.ts'

const results = await runChecks(Object.keys(checks) as CheckName[])
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1
