/** A token that has expired stays so when the daemon is started again after the clock was set back. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDaemon, type Daemon } from '../../src/daemon/serve.ts'
import { openManager } from '../../src/aw.ts'
import { commandLine } from '../../src/cli/daemon/command-line.ts'
import { run } from '../../src/cli/run.ts'
import { place } from '../cli/built-command.ts'

const begin = Date.now()
const hour = 3_600_000
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const serve = (home: string): Promise<Daemon> =>
  startDaemon({
    home,
    listen: '127.0.0.1:0',
    signal: new AbortController().signal,
    commandLine: commandLine(run),
    log: () => undefined,
  })

const ask = async ({ url }: Daemon, token: string): Promise<number> =>
  (await fetch(`${url}/api/workspaces`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } })).status

async function tokenIn(home: string): Promise<string> {
  await using manager = await openManager({ home })
  return (await manager.call('token create', { scopes: ['read'], expires: '1h' })).token
}

test.each(['was used after that', 'was left alone'])('one that %s', async (how) => {
  using at = place()
  vi.setSystemTime(begin)
  const token = await tokenIn(at.home)
  const first = await serve(at.home)
  expect(await ask(first, token)).toBe(200)
  vi.setSystemTime(begin + 2 * hour)
  if (how === 'was used after that') expect(await ask(first, token)).toBe(401)
  await first.end()

  vi.setSystemTime(begin + hour / 2)
  const second = await serve(at.home)
  expect(await ask(second, token)).toBe(401)
  await second.end()
  // A command line that does without a daemon knows it, too, and makes the one that is next.
  await using manager = await openManager({ home: at.home })
  expect(await manager.call('token list', {})).toMatchObject([{ state: 'expired' }])
})
