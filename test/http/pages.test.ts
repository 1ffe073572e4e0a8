import { expect, test } from 'vitest'
import type { Operation } from '../../src/api/operation.ts'
import { operations } from '../../src/api/table.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { ask } from './ask.ts'

/** A list comes in pages: each says where the next one is, and all together are the list. */

const page = 1000
const many = 2 * page + 500
const items = Array.from({ length: many }, (_, i) => ({ id: `ws_${String(i).padStart(5, '0')}`, i }))

/** Lists that are long, whatever is in them. */
function longLists(): { readonly manager: Manager; readonly asked: object[] } {
  const asked: object[] = []
  const call = async (_: string, input: { after?: string; limit?: number }) => {
    asked.push(input)
    const from = items.findIndex(({ id }) => id === input.after) + 1
    return items.slice(from, from + (input.limit ?? many))
  }
  return { manager: { call } as unknown as Manager, asked }
}

/** Follows `Link` to the end, as any client of HTTP would. */
async function pagesOf(at: Served, path: string): Promise<unknown[][]> {
  const pages: unknown[][] = []
  for (let next: string | undefined = path; next !== undefined;) {
    const { status, json, headers } = await ask(at, 'GET', next)
    expect(status).toBe(200)
    pages.push(json as unknown as unknown[])
    next = /^<([^>]+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1]
    if (pages.length > 10) throw new Error('There is no end to it')
  }
  return pages
}

const lists = (operations as readonly Operation[]).filter(
  ({ output, routes }) => output.type === 'array' && routes.some((one) => one.startsWith('GET ')),
)

test.each(lists.map((operation) => [operation.name, operation] as const))('%s', async (_, { routes }) => {
  const { manager, asked } = longLists()
  await using door = await served(manager, { over: 'tcp' })
  for (const route of routes) {
    const pages = await pagesOf(door, `/api${route.slice(4).replaceAll(/:\w+/g, 'one')}`)
    expect(pages.map(({ length }) => length)).toEqual([page, page, 500])
    expect(pages.flat()).toEqual(items)
  }
  expect(asked).toHaveLength(3 * routes.length)
})

test('as many as were asked for, and not more, by hand and through the client', async () => {
  const { manager } = longLists()
  await using door = await served(manager, { over: 'tcp' })
  for (const limit of [1, page, page + 1, page + 500, 2 * page]) {
    const pages = await pagesOf(door, `/api/workspaces?limit=${limit}`)
    expect(pages.flat()).toEqual(items.slice(0, limit))
    expect(await door.manager.call('list', { limit })).toEqual(pages.flat())
  }
  expect(await door.manager.call('list', {})).toHaveLength(many)
})

test('files of a folder, by a cursor of their own', async () => {
  await using core = memoryCore().manager
  await using door = await served(core, { over: 'tcp' })
  await core.call('create', { id: 'w0' })
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await core.call('fs write', { id: 'w0', path: `work/${name}`, content: '' })
  const found: string[] = []
  for (let after = ''; ;) {
    const path = `/api/workspaces/w0/files?path=work&limit=2${after}`
    const { entries, next } = (await ask(door, 'GET', path)).json as {
      entries: { path: string }[]
      next: string | null
    }
    found.push(...entries.map(({ path: one }) => one))
    if (next === null) break
    expect(entries).toHaveLength(2)
    after = `&after=${encodeURIComponent(next)}`
  }
  expect(found).toEqual(['work/a', 'work/b', 'work/c', 'work/d', 'work/e'])
})
