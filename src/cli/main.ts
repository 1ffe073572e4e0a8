import { run } from './run.ts'
import { processIo } from './io.ts'

// Not at the top level: the build makes one CommonJS file of it, which starts faster than modules do.
async function main(): Promise<void> {
  const code = await run(process.argv.slice(2), processIo())
  // All is written and closed; to let the process run out would take 2 ms more.
  process.exit(code)
}

void main()
