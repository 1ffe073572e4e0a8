import { run } from './run.ts'
import { processIo } from './io.ts'

// Not at the top level: the build makes one CommonJS file of it, which starts faster than modules do.
async function main(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), processIo())
}

void main()
