/** A size limit that no kernel enforces, while something runs in the workspace. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import { makeAw } from '../../../src/client/facade.ts'
import { collect } from '../../support/collect.ts'
import { endBoxes } from '../../support/end-boxes.ts'
import { until } from './fixture.ts'

const homes: AsyncDisposable[] = []

afterEach(async () => {
  for (const home of homes.splice(0)) await home[Symbol.asyncDispose]()
})

async function setUp() {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-watched-'))
  const set = { 'storage.driver': 'dir', 'space.watch_ms': '50', 'space.min_free_mb': '0' }
  const manager = await openManager({ home, env: {}, set })
  const aw = makeAw(manager)
  homes.push({
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]()
      await endBoxes(home)
      fs.rmSync(home, { recursive: true, force: true })
    },
  })
  return { aw, manager, ws: await aw.create({ id: 'a', config: { max_size_mb: 4 } }) }
}

/** Writes past the limit, a little at a time, and goes on. */
const writer = ['sh', '-c', 'i=0; while :; do head -c 1000000 /dev/zero > file$i; i=$((i+1)); sleep 0.05; done']
const passed = 'a/main passed its size limit of 4 MB, so everything running in it was stopped'
const full = expect.objectContaining({ code: 'quota_exceeded' }) as Error

describe.each(['none', 'namespace'] as const)('a workspace of %s that passes its size limit', (isolation) => {
  it('has its command stopped, which says why', async () => {
    const { aw, manager } = await setUp()
    const items: { type: string; over_limit?: boolean | undefined }[] = []
    const running = (async () => {
      for await (const item of manager.stream('exec', { id: 'a', argv: writer, isolation })) items.push(item)
    })()
    await expect(running).rejects.toMatchObject({ code: 'quota_exceeded', message: passed, data: { limit_mb: 4 } })
    expect(items.at(-1)).toMatchObject({ type: 'exit', signal: 'SIGKILL', over_limit: true })
    const [command] = await aw.history('a')
    expect(command).toMatchObject({ problem: { code: 'quota_exceeded', message: passed }, exit: { over_limit: true } })
    await expect(collect(manager.stream('exec', { id: 'a', argv: ['true'], isolation }))).rejects.toEqual(full)
  })

  it('has its detached run stopped, which says why', async () => {
    const { aw, manager } = await setUp()
    await collect(manager.stream('run', { id: 'a', argv: writer, isolation, detach: true }))
    const run = await aw.wait('a')
    expect(run).toMatchObject({ state: 'failed', exit: { over_limit: true }, problem: { code: 'quota_exceeded' } })
  })

  it('has its started sandbox stopped with what was left running there', async () => {
    const { aw, manager, ws } = await setUp()
    await aw.start('a', { isolation })
    const left = { id: 'a', argv: ['sh', '-c', `setsid sh -c '${writer[2]}' >/dev/null 2>&1 &`] }
    await collect(manager.stream('exec', left))
    const exec = (): Promise<unknown> => collect(manager.stream('exec', { id: 'a', argv: ['true'], isolation }))
    const message = (error: unknown): string => (error as Error).message
    await until(async () => (await exec().then(String, message)) === passed)
    const stopped = (await collect(aw.events({}))).filter(({ type }) => type === 'sandbox_stopped')
    expect(stopped).toMatchObject([{ data: { why: 'size_limit' } }])
    await expect(exec()).rejects.toEqual(full)
    for (const { path } of (await ws.files.list('work')).entries) await ws.files.remove(path)
    await exec()
  })

  it('goes on when its limit is raised in time', async () => {
    const { manager } = await setUp()
    const argv = ['sh', '-c', 'echo ready; read go; head -c 6000000 /dev/zero > file; sleep 1; echo done']
    let go = (): void => undefined
    const input = (async function* () {
      await new Promise<void>((resolve) => (go = resolve))
      yield { kind: 'data', data: Buffer.from('go\n') } as const
    })()
    let output = ''
    for await (const { data = '' } of manager.stream('exec', { id: 'a', argv, isolation }, { input })) {
      output += Buffer.from(data as Uint8Array).toString()
      if (output !== 'ready\n') continue
      await manager.call('limit', { id: 'a', size: '20' })
      go()
    }
    expect(output).toBe('ready\ndone\n')
  })
})

it('aw doctor names every workspace over its limit', async () => {
  const { aw, manager, ws } = await setUp()
  await ws.files.write('work/large', Buffer.alloc(3_000_000))
  for (const id of ['b', 'c', 'd', 'e', 'f', 'g']) await manager.call('fork', { id: 'a', to: [id] })
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => `${id}/main`)
  for (const name of names) fs.writeFileSync(join((await aw.show(name)).path, 'work/more'), Buffer.alloc(5_000_000))
  const { findings } = await manager.call('doctor', {})
  const found = findings.filter(({ name, status }) => name === 'size limits' && status === 'warning')
  for (const name of names)
    expect(found).toContainEqual(
      expect.objectContaining({
        message: expect.stringContaining(`${name} is over its size limit of 4 MB`) as string,
        hint: `Raise it with: aw limit ${name} MB; or remove files with: aw fs remove ${name} PATH`,
      }),
    )
})
