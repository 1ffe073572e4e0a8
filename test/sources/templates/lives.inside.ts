import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { Progress } from '../../../src/ports/manager.ts'
import { codeOf, openGround } from '../fixture.ts'
import { assertClean, running, setupsIn } from './assert-clean.ts'
import { makeProject } from './project.ts'

it('what cannot be enforced is refused before the source is looked at', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const from = { folder: join(base, 'not there') }
  const refused = { name: 'web', from, setup: ['true'], isolation: 'guarded', allow: ['npm'] } as const
  expect(await codeOf(aw.template.create(refused))).toBe('sandbox_unenforceable')
  expect(await codeOf(aw.template.create({ name: 'web', from, setup: ['true'] }))).toBe('source_failed')
  expect(await setupsIn(ground)).toBe(0)
  await assertClean(ground)
})

it('runs behind the walls that were asked for, and again behind others', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const made = await aw.template.create({ name: 'web', from: { folder: makeProject(base) }, setup: ['pwd'] })
  expect(made.setup).toMatchObject({ isolation: 'namespace', network: 'none' })
  const guarded = await aw.template.update({ name: 'web', isolation: 'guarded', network: 'host' })
  expect(guarded.setup).toMatchObject({ isolation: 'guarded', network: 'host', reused: false })
  expect((await aw.template.update({ name: 'web' })).setup).toMatchObject({ isolation: 'guarded', reused: true })
  const bare = await aw.template.update({
    name: 'web',
    isolation: 'none',
    setup: ['mkdir ../.aw; touch ../.aw/x made'],
  })
  expect(bare.setup).toMatchObject({ isolation: 'none', network: 'host', reused: false })
  const { path } = await aw.create({ id: 'one', template: 'web' })
  expect(fs.existsSync(join(path, '.aw', 'x'))).toBe(false)
  expect(fs.existsSync(join(path, 'work', 'made'))).toBe(true)
  await assertClean(ground)
})

it('reaches the hosts that it may reach, and no others', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const server = createServer((_, answer) => answer.end('from the registry')).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const from = { folder: makeProject(base) }
  const fetching = `curl -sf --max-time 20 http://127.0.0.1:${port}/package > fetched`
  expect(await codeOf(aw.template.create({ name: 'web', from, setup: [fetching] }))).toBe('setup_failed')
  const allow = [`127.0.0.1:${port}`]
  const made = await aw.template.create({ name: 'web', from, setup: [fetching], allow })
  expect(made.setup).toMatchObject({ network: 'allowlist', allow })
  const { path } = await aw.create({ id: 'one', template: 'web' })
  expect(fs.readFileSync(join(path, 'work', 'fetched'), 'utf8')).toBe('from the registry')
  expect((await aw.template.update({ name: 'web' })).setup).toMatchObject({ allow, reused: true })
  const other = { name: 'web', allow: ['example.com'] }
  expect(await codeOf(aw.template.update(other))).toBe('setup_failed')
  await assertClean(ground)
})

it('a fork bomb ends with its time', { timeout: 60_000 }, async () => {
  const ground = await openGround({ 'sandbox.processes': '64' })
  const { aw, base } = ground
  const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 600'
  const input = { name: 'web', from: { folder: makeProject(base) }, setup: [bomb], timeout_ms: 1500 }
  expect(await codeOf(aw.template.create(input))).toBe('setup_failed')
  await assertClean(ground)
})

it('others recover while a set-up runs, and two run at once; neither is disturbed', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const from = { folder: makeProject(base) }
  const begun = new Set<string>()
  const mark = `985.${process.pid}`
  const make = (name: string) =>
    aw.template.create(
      { name, from, setup: [`echo up; timeout 50 sleep ${mark}; true`] },
      { onProgress: ({ output }: Progress) => void (output && begun.add(name)) },
    )
  const both = Promise.all([make('one'), make('two')])
  while (begun.size < 2 || running('sleep', mark).length < 2) await sleep(10)
  expect(await aw.recover()).toMatchObject({ leftovers: [], orphans: [] })
  const users = new Set(running('sleep', mark).map((file) => fs.statSync(dirname(file)).uid))
  expect(users.size).toBe(process.getuid?.() === 0 ? 2 : 1)
  for (const file of running('sleep', mark)) process.kill(Number(basename(dirname(file))))
  expect((await both).map(({ setup }) => setup?.reused)).toEqual([false, false])
  await assertClean(ground)
})

it('one whose process was killed leaves nothing once aw recover has run', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw, base, home } = ground
  const program = join(import.meta.dirname, '../../crash/program.ts')
  const mark = `986.${process.pid}`
  const input = { name: 'web', from: { folder: makeProject(base) }, setup: [`sleep ${mark}`] }
  const child = spawn(process.execPath, [program, 'call', home, 'template create', JSON.stringify(input)], {
    stdio: 'ignore',
  })
  while (child.exitCode === null && running('sleep', mark).length === 0) await sleep(10)
  expect(running('sleep', mark)).toHaveLength(1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await aw.recover()
  expect(running('sleep', mark)).toEqual([])
  expect(fs.readdirSync(join(home, 'runs'))).toEqual([])
  expect(await codeOf(aw.template.show({ name: 'web' }))).toBe('template_not_found')
  expect((await aw.template.log({ name: 'web' })).problem).toMatchObject({ code: 'lost' })
  await assertClean(ground)
})
