import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { WorkspaceId } from '../../domain/ids.ts'
import { dirRequests } from './dir.ts'

const directory = mkdtempSync(join(tmpdir(), 'aw-requests-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const id = 'ws_1' as WorkspaceId
const requests = dirRequests({ directory })
const line = (number: number, reason: string | null, verdict = 'allowed'): string =>
  `${JSON.stringify({ id: number, time: `2026-01-01T00:00:0${number}.000Z`, verdict, reason, up: 0, down: 0, ms: 0 })}\n`
const read = async (limit: number): Promise<unknown[]> =>
  (await requests.read(id, limit)).map(({ time, reason }) => [Number(time.slice(17, 19)), reason])

test('what was put aside comes before the rest, ends in the rest, and goes with it', async () => {
  expect(await read(10)).toEqual([])
  writeFileSync(`${requests.place(id)}.1`, line(1, null) + line(2, 'open') + line(3, 'not_listed', 'refused'))
  writeFileSync(requests.place(id), `${line(2, 'client_gone')}{"event":"log_full"}\n${line(4, null)}{"id":5,"ti`)
  const all = [
    [1, null],
    [3, 'not_listed'],
    [2, 'client_gone'],
    [4, null],
  ]
  expect(await read(10)).toEqual(all)
  expect(await read(3)).toEqual(all.slice(1))
  expect(await read(1)).toEqual(all.slice(3))
  await requests.remove(id)
  await requests.remove(id)
  expect([existsSync(requests.place(id)), existsSync(`${requests.place(id)}.1`)]).toEqual([false, false])
})
