import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import { sh } from '../../sandbox/exec/run-script.ts'
import { codeOf, openGround } from '../fixture.ts'
import { assertClean, logOf, running, setupsIn } from './assert-clean.ts'
import { makeProject, npmCi, packGreeting } from './project.ts'

const isRoot = process.getuid?.() === 0

it('npm ci runs once; every workspace has what it made, and changes of the lock alone run it again', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const folder = makeProject(base)
  const setup = [npmCi, 'node -p "process.getuid()" > uid; pwd; ls /']
  const made = await aw.template.create({
    name: 'web',
    from: { folder },
    setup,
    setup_input: ['package-lock.json', 'vendor/'],
    variables: { title: 'x' },
  })
  expect(made.setup).toMatchObject({ reused: false, ran_for: 1, network: 'none', isolation: 'namespace' })
  expect(Object.keys(made.setup?.files ?? {}).toSorted()).toEqual(['package-lock.json', 'vendor/greeting-1.0.0.tgz'])
  // What the set-up brought along is not filled in.
  expect(made.files).toEqual(['work/README'])
  expect(await logOf(ground, 'web')).toContain('/workspace/work\n')

  for (const id of ['one', 'two']) {
    const workspace = await aw.create({ id, template: 'web', variables: { title: id } })
    expect(workspace.base).toBe(made.base)
    expect(await sh(aw, id, 'node_modules/.bin/greet; cat README; echo more > node_modules/greeting/more')).toBe(
      `hello {{title}}\nabout ${id}\n`,
    )
  }
  expect(await setupsIn(ground)).toBe(1)
  const inOne = fs.statSync(join((await aw.get('one')).path, 'work/node_modules/greeting/index.js'))
  expect(inOne.uid).toBe(isRoot ? 61_000 : process.getuid?.())

  // The same source: as it was. Another one with the same lock: what was made is laid over it.
  expect((await aw.template.update({ name: 'web' })).setup).toMatchObject({ reused: true, ran_for: 1 })
  fs.writeFileSync(join(folder, 'README'), 'new\n')
  fs.writeFileSync(join(folder, 'page.js'), 'console.log(require("greeting"))\n')
  expect((await aw.template.update({ name: 'web' })).setup).toMatchObject({ reused: true, ran_for: 1 })
  expect(await setupsIn(ground)).toBe(1)
  await aw.create({ id: 'three', template: 'web' })
  expect(await sh(aw, 'three', 'node page.js; cat README; node_modules/.bin/greet')).toBe(
    'hello\nnew\nhello {{title}}\n',
  )
  const stats = 'find node_modules ! -name more -printf "%p %y %m %l\n" | sort; sha256sum node_modules/greeting/*.js'
  expect(await sh(aw, 'three', stats)).toBe(await sh(aw, 'one', stats))

  packGreeting(base, folder, '2.0.0', 'good day')
  fs.rmSync(join(folder, 'vendor', 'greeting-1.0.0.tgz'))
  expect((await aw.template.update({ name: 'web' })).setup).toMatchObject({ reused: false, ran_for: 4 })
  await aw.create({ id: 'four', template: 'web' })
  expect(await sh(aw, 'four', 'node page.js')).toBe('good day\n')
  await aw.create({ id: 'older', template: 'web@1', variables: { title: 'x' } })
  expect(await sh(aw, 'older', 'node_modules/.bin/greet')).toBe('hello {{title}}\n')
  await assertClean(ground)
})

it('a set-up that fails says why, and nothing of it is kept but what it wrote', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const from = { folder: makeProject(base) }
  const setup = [
    'echo before',
    'mkdir made; for i in $(seq 30); do echo "line $i"; done; echo why >&2; exit 3',
    'false',
  ]
  const failed = await aw.template.create({ name: 'web', from, setup }).catch(toAwError)
  expect(failed).toMatchObject({
    code: 'setup_failed',
    message: expect.stringMatching(/ended with exit code 3: why$/) as unknown,
    hint: expect.stringContaining('aw template log web') as unknown,
    data: { code: 3, signal: null },
  })
  expect(failed).toHaveProperty('data.output.length', 20)
  expect(await aw.template.list()).toEqual([])
  expect(await logOf(ground, 'web')).toMatch(/^before\nline 1\n[^]*line 30\nwhy\n$/)
  const late = await aw.template.create({ name: 'web', from, setup: ['sleep 600'], timeout_ms: 300 }).catch(toAwError)
  expect(late).toMatchObject({ code: 'setup_failed', data: { timed_out: true } })
  await assertClean(ground)
})

it('a hostile set-up reaches nothing outside, and nothing of it goes on', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw, base, home } = ground
  const folder = makeProject(base)
  const canary = join(base, 'canary')
  fs.writeFileSync(canary, 'alive')
  fs.chmodSync(canary, 0o666)
  const server = createServer((socket) => socket.end('secret')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const evil = `
    echo dead > ${canary}; rm -rf ${base} ${home} /usr/bin/env /etc/passwd; echo x > /owned; echo x > /usr/owned
    echo evil > ../.aw/run.json; mkdir -p ../.aw
    node -e 'require("net").connect(${port}, "127.0.0.1").on("data", () => fs.writeFileSync("leak", "x")).on("error", () => {})'
    ln -s ${base} out; ln -s / root; ln -s /etc/passwd secret; rm README; ln -s ${canary} README; mkfifo pipe
    mkdir deep; cd deep; ln -s ../../../../../../../.. up; cd ..
    printf 'bytes' > "$(printf 'bad\\377name')"
    cp /bin/sh shell; chmod 6755 shell
    (setsid sleep 987.${process.pid} >/dev/null 2>&1 &) ; (setsid sh -c 'while :; do echo > late; sleep 0.05; done' >/dev/null 2>&1 &)
    until [ -e late ]; do sleep 0.01; done`
  const made = await aw.template.create({
    name: 'evil',
    from: { folder },
    setup: [`(${evil}); exit 0`],
    variables: { title: 'x' },
  })
  server.close()
  expect(await codeOf(aw.template.create({ name: 'killer', from: { folder }, setup: ['kill -9 -1'] }))).toBe(
    'setup_failed',
  )
  expect(made.files).toEqual([])
  expect(fs.readFileSync(canary, 'utf8')).toBe('alive')
  for (const path of ['/owned', '/usr/owned']) expect(fs.existsSync(path)).toBe(false)
  expect(fs.existsSync('/etc/passwd')).toBe(true)
  const { path } = await aw.create({ id: 'one', template: 'evil' })
  const names = await sh(aw, 'one', 'ls -A; cat ../.aw/run.json 2>/dev/null || true')
  expect(names).not.toContain('leak')
  expect(names).not.toContain('evil')
  expect(fs.readlinkSync(join(path, 'work', 'README'))).toBe(canary)
  const before = await sh(aw, 'one', 'stat -c %y late')
  expect(await codeOf(aw.template.update({ name: 'evil' }))).toBe('done')
  expect(await sh(aw, 'one', 'stat -c %y late')).toBe(before)
  expect(running('sleep', `987.${process.pid}`)).toEqual([])
  await assertClean(ground)
})
