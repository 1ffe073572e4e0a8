import { afterEach, describe, expect, test } from 'vitest'
import { memoryCore } from '../../test/memory/core.ts'
import { connected as connect, type Connected } from '../../test/support/mcp.ts'
import { limits } from './limits.ts'

const open: Connected[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})

async function connected(workspace?: string, { manager } = memoryCore()) {
  const one = await connect(manager, workspace)
  open.push(one)
  return { ...one, manager }
}

describe('much of it comes in parts', () => {
  test('workspaces, files, snapshots and differences', async () => {
    const { ask, manager } = await connected()
    for (const name of ['t/a', 't/b', 't/c', 't/d', 't/e']) await manager.call('create', { id: name })
    const { id: empty } = await manager.call('snapshot', { id: 't/a' })
    for (let i = 0; i < 5; i++) {
      await manager.call('fs write', { id: 't/a', path: `work/f${i}`, content: `${i}` })
      if (i < 4) await manager.call('snapshot', { id: 't/a' })
    }
    const pages = async (tool: string, given: object, field: string): Promise<unknown[]> => {
      const all: unknown[] = []
      let cursor: string | null = null
      let count = 0
      do {
        const page: Record<string, unknown> = await ask(tool, {
          ...given,
          limit: 2,
          ...(cursor !== null && { cursor }),
        })
        all.push(...(page[field] as unknown[]))
        cursor = page['next_cursor'] as string | null
        count++
      } while (cursor !== null)
      expect([tool, count]).toEqual([tool, 3])
      return all
    }
    expect(await pages('list_workspaces', { task: 't' }, 'workspaces')).toMatchObject(
      ['t/a', 't/b', 't/c', 't/d', 't/e'].map((name) => ({ workspace_id: name })),
    )
    const paths = [0, 1, 2, 3, 4].map((i) => ({ path: `work/f${i}` }))
    expect(await pages('list_files', { id: 't/a', path: 'work' }, 'entries')).toMatchObject(paths)
    expect(await pages('diff', { from: `t/a@${empty}` }, 'changes')).toMatchObject(paths)
    const snapshots = await manager.call('snapshots', { id: 't/a' })
    expect(await pages('list_snapshots', { id: 't/a' }, 'snapshots')).toMatchObject(
      snapshots.toReversed().map(({ id }) => ({ id })),
    )
  })

  test('a long file', async () => {
    const { ask, manager } = await connected()
    await manager.call('create', { id: 'a' })
    const content = 'ä€𐍈x'.repeat(10_000)
    await manager.call('fs write', { id: 'a', path: 'long', content: Buffer.from(content) })
    let read = ''
    let offset = 0
    for (;;) {
      const part = await ask('read_file', { id: 'a', path: 'long', offset })
      expect(part).toMatchObject({ encoding: 'utf-8', size: 100_000 })
      expect(part['bytes']).toBeLessThanOrEqual(limits.readBytes)
      read += part['content'] ?? ''
      offset += part['bytes'] ?? 0
      if (part['cut'] === undefined) break
      expect(part['cut']).toContain(`go on with offset ${offset}`)
    }
    expect(read === content).toBe(true)
  })

  test('what a command floods us with', async () => {
    const { ask } = await connected()
    await ask('create_workspace', { id: 'a' })
    const { stdout = '', cut } = (await ask('exec', { id: 'a', argv: ['flood', '1000000'] })) as {
      stdout?: string
      cut?: string
    }
    expect(stdout.length).toBeLessThan(40_000)
    expect(cut).toMatch(/^Left out of the middle: \d+ of 1000000 bytes of standard output\. .*read_file/)
    expect(stdout).toContain(`${1_000_000 - limits.outputHeadBytes - limits.outputTailBytes} bytes are left out here`)
  })

  test('patches', async () => {
    const { ask, manager } = await connected()
    await manager.call('create', { id: 'a' })
    await manager.call('snapshot', { id: 'a', label: 'empty' })
    for (const name of ['x', 'y', 'z'])
      await manager.call('fs write', { id: 'a', path: `work/${name}`, content: 'line\n'.repeat(6_000) })
    const first = await ask('diff', { from: 'a@empty', text: true })
    expect(first).toMatchObject({ changes: [{ path: 'work/x' }], next_cursor: '1' })
    expect(await ask('diff', { from: 'a@empty', text: true, cursor: '2' })).toMatchObject({
      changes: [{ path: 'work/z' }],
      next_cursor: null,
    })
  })
})

test('progress and what a command writes are told to those who ask', async () => {
  const { client, ask } = await connected()
  await ask('create_workspace', { id: 'a' })
  const heard: { progress: number; message?: string | undefined }[] = []
  await client.callTool(
    { name: 'exec', arguments: { id: 'a', argv: ['echo', '\u001b[1mhello\u001b[0m'] } },
    { onprogress: (one) => heard.push(one) },
  )
  expect(heard).toEqual([{ progress: 1, message: 'hello' }])
})

test('a call that is cancelled ends its command', async () => {
  const { client, ask, manager } = await connected()
  await ask('create_workspace', { id: 'a' })
  const stop = new AbortController()
  const call = client.callTool(
    { name: 'exec', arguments: { id: 'a', argv: ['sleep', '600'] } },
    { signal: stop.signal },
  )
  call.catch(() => undefined)
  await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
  stop.abort()
  await expect(call).rejects.toThrow('abort')
  await expect
    .poll(() => manager.call('history', { id: 'a' }))
    .toMatchObject([{ exit: { code: null, signal: 'SIGKILL' } }])
})
