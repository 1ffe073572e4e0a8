/** What the way through the daemon costs: against a bare route of a framework, and against the call itself. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fastify from 'fastify'
import { connectAw } from '../src/client/main.ts'
import { wire } from '../src/client/remote/wire.ts'
import { openAw } from '../src/index.ts'
import { inRoot } from '../tools/root.ts'
import { compete, row, type Row } from './row.ts'

type Run = (args: readonly string[], env?: NodeJS.ProcessEnv, program?: string) => void

export async function benchDaemon({ rounds }: { rounds: number }): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-daemon-'))
  const dist = join(folder, 'dist')
  for (const name of ['node_modules', 'prebuilt', 'package.json']) symlinkSync(inRoot(name), join(folder, name))
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: folder,
    AW_HOME: join(folder, 'home'),
  }
  const run: Run = (args, more = {}, program = process.execPath) => {
    const options = { env: { ...env, ...more }, cwd: folder, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync(program, args, options)
    if (status !== 0) throw new Error(`${args.slice(1).join(' ')} failed: ${stderr}`)
  }
  const command = join(dist, 'aw.cjs')
  try {
    run([inRoot('tools/build.ts'), dist])
    run([command, 'create', 'task/agent'])
    run([command, 'serve', '--detach'])
    return [...(await calls(env.AW_HOME, rounds)), ...(await commands(run, command, rounds))]
  } finally {
    run([command, 'serve', '--stop'])
    rmSync(folder, { recursive: true, force: true })
  }
}

async function calls(home: string, rounds: number): Promise<Row[]> {
  await using near = await openAw({ home, env: {} })
  await using far = connectAw({ socket: join(home, 'aw.sock') })
  const bare = fastify()
  const view = await near.manager.call('show', { id: 'task/agent' })
  bare.get('/', async () => view)
  const socket = join(home, 'bare.sock')
  await bare.listen({ path: socket })
  using line = wire({ socket })
  const plain = async (): Promise<void> => {
    for await (const _ of (await line.send({ method: 'GET', path: '/', headers: { host: 'localhost' } })).body);
  }
  await near.fs.write('task/agent', { path: 'work/one', content: Buffer.alloc(1024) })
  const many = rounds * 20
  const times = await compete(many, {
    bare: plain,
    showNear: () => near.manager.call('show', { id: 'task/agent' }),
    showFar: () => far.manager.call('show', { id: 'task/agent' }),
    readNear: () => near.fs.read('task/agent', { path: 'work/one' }),
    readFar: () => far.fs.read('task/agent', { path: 'work/one' }),
  })
  const made = await compete(rounds, {
    near: (round) => near.create({ id: `near-${round}/agent` }),
    far: (round) => far.create({ id: `far-${round}/agent` }),
  })
  await bare.close()
  return [
    row('get through the daemon; a bare fastify route', times.showFar, times.bare, {
      goal: 2,
      note: 'over a socket, kept open',
    }),
    row('get through the daemon; the call in process', times.showFar, times.showNear, { goal: null, note: '' }),
    row('file of 1 KiB through the daemon; a bare fastify route', times.readFar, times.bare, {
      goal: 2,
      note: 'over a socket, kept open',
    }),
    row('file of 1 KiB through the daemon; the call in process', times.readFar, times.readNear, {
      goal: null,
      note: '',
    }),
    row('create through the daemon; the call in process', made.far, made.near, { goal: 1.3, note: 'log durable' }),
  ]
}

async function commands(run: Run, command: string, rounds: number) {
  // As it is installed: what a daemon can do needs no Node.
  const served = (...args: readonly string[]): void => run(args, {}, join(command, '../aw'))
  // A setting of one's own keeps a command from going through the daemon.
  const alone = { AW_LOG_CHECKPOINT_EVERY: '256' }
  const times = await compete(rounds, {
    node: () => run(['-e', '0']),
    pathFar: () => served('path', 'task/agent'),
    pathNear: () => run([command, 'path', 'task/agent'], alone),
    createFar: (round) => served('create', `a-${round}/agent`),
    createNear: (round) => run([command, 'create', `b-${round}/agent`], alone),
  })
  return [
    row('aw path through the daemon; in process', times.pathFar, times.pathNear, {
      goal: 1,
      note: 'a process of its own each time',
    }),
    row('aw create through the daemon; in process', times.createFar, times.createNear, {
      goal: 1,
      note: 'a process of its own each time',
    }),
    row('aw path through the daemon; node -e 0', times.pathFar, times.node, {
      goal: 1.5,
      note: 'a process of its own each time',
    }),
  ]
}

if (import.meta.main) console.table(await benchDaemon({ rounds: 25 }))
