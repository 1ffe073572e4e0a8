/**
 * One process among several that use one home.
 *   program.ts call HOME OPERATION INPUT   one operation; prints the answer once it is acknowledged
 *   program.ts work HOME NAME              makes, renames and erases workspaces; told by lines: pause, go
 *   program.ts hold HOME NAME              begins to make a workspace and stops itself in the middle
 */
import { createInterface } from 'node:readline'
import { openManager } from '../../src/aw.ts'
import { toAwError } from '../../src/domain/errors.ts'
import type { Manager } from '../../src/ports/manager.ts'

const [mode, home = '', what = '', input = '{}'] = process.argv.slice(2)

await using manager = await openManager({ home })
if (mode === 'call') await call()
if (mode === 'work') await work(manager)
if (mode === 'hold') await hold()

async function call(): Promise<void> {
  try {
    const result: unknown = await manager.call(what as 'show', JSON.parse(input) as { id: string })
    console.log(JSON.stringify({ result }))
  } catch (error) {
    console.log(JSON.stringify({ error: toAwError(error) }))
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
  }
}

/** The source has so much in it that the first word of progress comes in the middle of the copy. */
async function hold(): Promise<void> {
  const { folder } = JSON.parse(input) as { folder: string }
  const onProgress = (): void => void process.kill(process.pid, 'SIGSTOP')
  await manager.call('create', { id: what, from: { folder } }, { onProgress })
  console.log('made')
}
