/**
 * One process among several that use one home.
 *   program.ts call HOME OPERATION INPUT   one operation; prints the answer once it is acknowledged
 *   program.ts serve HOME                  operations as they come in, a line of JSON each
 *   program.ts all HOME                    many operations at once: waits for a line with them, then for one more
 *   program.ts work HOME NAME              makes, renames and erases workspaces; told by lines: pause, go
 *   program.ts hold HOME NAME              begins to make a workspace and stops itself in the middle
 */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Manager } from '../../src/ports/manager.ts'

const [mode, home = '', what = '', input = '{}'] = process.argv.slice(2)

// What users get: from the sources a process would take three times as long to start, and there are hundreds.
const { AwError, openAw } = (await import(
  `${import.meta.dirname}/../../dist/index.js`
)) as typeof import('../../src/index.ts')
await using aw = await openAw({ home })
const { manager } = aw
if (mode === 'call') console.log(await call(what, JSON.parse(input)))
if (mode === 'serve') await serve()
if (mode === 'all') await all()
if (mode === 'work') await work(manager)
if (mode === 'hold') await hold()

async function call(operation: string, given: unknown): Promise<string> {
  try {
    if (operation === 'exec' || operation === 'run')
      return JSON.stringify({ result: (await itemsOf(manager.stream(operation, given as never))).at(-1) })
    if (operation === 'events')
      return JSON.stringify({ result: await itemsOf(manager.stream(operation, given as never)) })
    const result: unknown = await manager.call(operation as 'show', given as { id: string })
    return JSON.stringify({ result })
  } catch (error) {
    return JSON.stringify({ error: error instanceof AwError ? error : new AwError('internal', String(error)) })
  }
}

async function itemsOf(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const item of items) found.push(item)
  return found
}

async function all(): Promise<void> {
  const lines = createInterface(process.stdin)[Symbol.asyncIterator]()
  const { value } = (await lines.next()) as { value: string }
  console.log('ready')
  await lines.next()
  const calls = JSON.parse(value) as { operation: string; input: unknown }[]
  console.log(JSON.stringify(await Promise.all(calls.map(({ operation, input }) => call(operation, input)))))
}

async function serve(): Promise<void> {
  for await (const line of createInterface(process.stdin)) {
    const { operation, input } = JSON.parse(line) as { operation: string; input: unknown }
    console.log(await call(operation, input))
  }
}

async function work(manager: Manager): Promise<void> {
  let paused: (() => void) | undefined
  let wait: Promise<void> | undefined
  const lines = createInterface(process.stdin)
  lines.on('line', (line) => {
    if (line === 'pause') wait = new Promise((resolve) => (paused = resolve))
    else paused?.()
  })
  lines.on('close', () => process.exit())
  for (let round = 0; ; round++) {
    if (wait !== undefined) {
      console.log('paused')
      await wait
      wait = undefined
      console.log('going on')
    }
    const id = `${what}-${round}`
    const { id: made } = await manager.call('create', { id })
    await manager.call('fs write', { id, path: 'work/a', content: Buffer.from(id) })
    await manager.call('rename', { id, to: `${id}/renamed` })
    const content = await manager.call('fs read', { id: made, path: 'work/a' })
    if (Buffer.from(content as Uint8Array).toString() !== id) throw new Error(`${id} has lost its file`)
    await manager.call('destroy', { id: made, purge: true })
    console.log(`made ${made}`)
    // Leaves time for the others on a small machine.
    await sleep(80)
  }
}

/** The source has so much in it that the first word of progress comes in the middle of the copy. */
async function hold(): Promise<void> {
  const { folder } = JSON.parse(input) as { folder: string }
  const onProgress = (): void => void process.kill(process.pid, 'SIGSTOP')
  await manager.call('create', { id: what, from: { folder } }, { onProgress })
  console.log('made')
}
