import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Inputs, OperationName, Outputs, StreamName } from '../../src/api/table.ts'
import { openManager } from '../../src/aw.ts'
import { jsonText } from '../../src/http/answer.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import { endBoxes } from '../support/end-boxes.ts'

type CallName = Exclude<OperationName, StreamName>

/** Somebody who asks, and remembers what was answered, as JSON has it. */
interface Asker {
  readonly folder: string
  readonly call: <N extends CallName>(name: N, input: Inputs[N], context?: CallContext) => Promise<Outputs[N]>
  readonly stream: <N extends StreamName>(name: N, input: Inputs[N], context?: CallContext) => Promise<Outputs[N][]>
}

/** Every operation in a home of its own, with all that it tells. */
export async function everyAnswer(): Promise<ReadonlyMap<string, unknown[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-answers-'))
  const home = join(folder, 'home')
  const told = new Map<string, unknown[]>()
  const env = { PATH: process.env['PATH'], HOME: folder }
  const manager = await openManager({ home, env, set: { 'storage.driver': 'dir' } })
  try {
    const asker = askerOf(manager, folder, told)
    for (const part of [files, history, commands, runs, sources, results, rights, care]) await part(asker)
    return told
  } finally {
    await manager[Symbol.asyncDispose]()
    await endBoxes(home)
    rmSync(folder, { recursive: true, force: true })
  }
}

function askerOf(manager: Manager, folder: string, told: Map<string, unknown[]>): Asker {
  const note = (name: string, answer: unknown): void => {
    const text = jsonText(answer)
      .replaceAll(join(folder, 'home'), '/home/user/.aw')
      .replaceAll(folder, '/home/user')
      .replaceAll(/\baw_[\w-]{43}/g, `aw_${'0'.repeat(43)}`)
    told.set(name, [...(told.get(name) ?? []), JSON.parse(text) as unknown])
  }
  return {
    folder,
    async call(name, input, context) {
      const answer = await manager.call(name, input, context)
      note(name, answer)
      return answer
    },
    async stream(name, input, context) {
      const items: Outputs[typeof name][] = []
      for await (const item of manager.stream(name, input, context)) {
        items.push(item)
        note(name, item)
      }
      return items
    },
  }
}

async function files({ call, stream }: Asker): Promise<void> {
  const id = 'files'
  await call('create', { id, labels: { team: 'web' }, config: { git_config: { enabled: true } } })
  await call('ensure', { id })
  await call('path', { id })
  await call('exists', { id })
  await call('paths', { id })
  await call('prompt adapt', { id, text: 'Look into /workspace' })
  await call('fs write', { id, path: 'work/one', content: 'one' })
  await call('fs append', { id, path: 'work/one', content: 'two' })
  await call('fs upload', { id, path: 'work/up' }, { input: piece('content') })
  await call('fs read', { id, path: 'work/one' })
  await stream('fs download', { id, path: 'work/one' })
  await call('fs mkdir', { id, path: 'work/dir' })
  await call('fs copy', { id, from: 'work/one', to: 'work/dir/one' })
  await call('fs move', { id, from: 'work/up', to: 'work/dir/up' })
  symlinkSync('/etc/hosts', join((await call('show', { id })).path, 'work', 'out'))
  await call('fs list', { id, path: 'work' })
  await call('fs list', { id, path: 'work', limit: 1 })
  await call('fs tree', { id })
  await call('fs stat', { id, path: 'work/one' })
  await call('fs stat', { id, path: 'work/out', follow: false })
  await call('fs resolve', { id, path: 'work/one' })
  await call('fs remove', { id, path: 'work/dir', recursive: true })
  await call('label', { id, labels: { keep: 'yes' } })
  await call('ttl', { id, duration: '7d' })
  await call('limit', { id, size: '500' })
  await call('show', { id })
  await call('list', {})
}

async function* piece(text: string): AsyncGenerator<{ kind: 'data'; data: Uint8Array }> {
  yield { kind: 'data', data: Buffer.from(text) }
}

async function history({ call, stream }: Asker): Promise<void> {
  const id = 'files'
  await call('snapshot', { id, label: 'first', meta: { turn: 1 }, key: 'one' })
  await call('fs write', { id, path: 'work/one', content: 'changed\n' })
  await call('fs write', { id, path: 'work/more', content: 'more\n' })
  await stream('diff', { from: `${id}@first`, to: id, text: true, stat: true })
  await call('describe', { id })
  await call('restore', { id, snapshot: 'first' })
  await call('undo', { id })
  await call('redo', { id })
  await call('branch', { id, name: 'side' })
  await call('snapshot label', { id, snapshot: 'first', label: 'the first' })
  const [forked] = (await call('fork', { id, to: ['forked'] })).forks
  await call('snapshot', { id, label: 'spare' })
  await call('snapshots', { id })
  await call('snapshot remove', { id, snapshots: ['spare'] })
  await call('verify', { id })
  await call('rename', { id: forked?.name ?? '', to: 'renamed' })
  await call('reset', { id: 'renamed' })
  await call('destroy', { id: 'renamed', reason: 'user' })
  await call('list', { trashed: true })
  await call('undelete', { id: 'renamed' })
  await call('destroy', { id: 'renamed' })
  await call('purge', { id: 'renamed' })
}

const server = `
import socket
s = socket.socket(); s.bind(("127.0.0.1", 3000)); s.listen()
c, _ = s.accept(); c.sendall(b"hello"); c.close()
`
/** A request to somewhere that is not allowed, through the proxy that a sandbox has. */
const asking = `
import os, urllib.request
try: urllib.request.urlopen("http://other.invalid/")
except Exception as error: print(error)
`

async function commands({ call, stream }: Asker): Promise<void> {
  const id = 'commands'
  await call('create', { id })
  await call('env set', { id, env: { A_NAME: 'value' } })
  await call('env set', { id, secret: 'A_SECRET', value: 'value' })
  await call('env list', { id })
  await call('env unset', { id, names: ['A_NAME'] })
  await stream('exec', { id, argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] })
  await stream('exec', { id, argv: ['python3', '-c', asking], allow: ['example.com'] })
  await call('requests', { id })
  await call('start', { id })
  const serving = stream('exec', { id, argv: ['python3', '-c', server] })
  await connected(stream, id)
  await serving
  await call('show', { id })
  await call('stop', { id })
  await call('limit', { id, size: '1' })
  const tooMuch = 'head -c 3000000 /dev/zero > large; sleep 60'
  await stream('exec', { id, argv: ['sh', '-c', tooMuch] }).catch(() => undefined)
  await call('fs remove', { id, path: 'work/large' })
  await call('history', { id })
}

/** Until it listens, nobody is there. */
async function connected(stream: Asker['stream'], id: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const found = await stream('connect', { id, port: 3000 }).catch((error: unknown) => error as Error)
    if (Array.isArray(found) && found.length > 0) return
    if (tries > 100) throw new Error('Nothing was connected', { cause: found })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function runs({ call, stream, folder }: Asker): Promise<void> {
  mkdirSync(join(folder, 'home/agents.d'), { mode: 0o700 })
  const profile = {
    title: 'Somebody',
    binary: 'sh',
    command: ['sh', '-c', 'echo made > made; echo said'],
    version: ['-c', ':'],
  }
  writeFileSync(join(folder, 'home/agents.d/somebody.json'), JSON.stringify(profile))
  await call('agents list', {})
  await call('agents show', { name: 'claude' })
  await call('agents show', { name: 'somebody' })
  await call('agents test', { name: 'somebody' })
  await stream('run', { id: 'runs', agent: 'somebody', prompt: 'Mend the login form' })
  await call('runs', { id: 'runs' })
  await stream('logs', { id: 'runs' })
  await call('wait', { id: 'runs' })
  await stream('run', { id: 'runs', argv: ['sleep', '600'], detach: true, snapshot: 'off' })
  await call('status', {})
  await call('cancel', { id: 'runs', grace_ms: 0 })
}

async function sources({ call, folder }: Asker): Promise<void> {
  mkdirSync(join(folder, 'source'))
  writeFileSync(join(folder, 'source/file'), 'text')
  await call('create', { id: 'copy', from: { folder: join(folder, 'source') } })
  await call('cp', { from: join(folder, 'source'), to: 'copy:work/again' })
  await call('bases list', {})
  await call('template create', { name: 'page', from_workspace: 'copy', setup: ['true'] })
  await call('template update', { name: 'page', from_workspace: 'copy' })
  await call('template list', {})
  await call('template show', { name: 'page' })
  await call('template log', { name: 'page' })
  await call('create', { id: 'templated', template: 'page' })
  await call('template remove', { name: 'page' })
  await call('shared create', { name: 'models' })
  await call('shared list', {})
  const { trash } = (await call('shared remove', { name: 'models' })) as { trash?: string }
  await call('shared undelete', { trash: trash ?? 'models' })
}

async function results({ call, folder }: Asker): Promise<void> {
  const file = join(folder, 'copy.aw.tar.zst')
  await call('export', { of: 'copy', file })
  await call('import', { file, id: 'imported' })
  const repo = join(folder, 'repository')
  const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com']
  execFileSync('git', ['init', '-q', '-b', 'main', repo])
  execFileSync('git', ['-C', repo, ...author, 'commit', '-q', '--allow-empty', '-m', 'First'])
  await call('create', { id: 'cloned', repo })
  await call('fs write', { id: 'cloned', path: 'work/new', content: 'new\n' })
  await call('export', { of: 'cloned', patch: true })
  await call('export', { of: 'cloned', branch: 'results', repo })
  await call('export', { of: 'cloned', bundle: join(folder, 'results.bundle') })
  await call('destroy', { id: 'copy' })
  await call('destroy', { id: 'templated' })
  const [base] = await call('bases list', {})
  if (base !== undefined) await call('bases remove', { name: base.name, force: true })
}

async function rights({ call }: Asker): Promise<void> {
  const id = 'files'
  const { id: lease } = await call('lease acquire', { id, holder: 'ci' })
  await call('show', { id })
  await call('lease renew', { id, lease })
  await call('lease release', { id, lease })
  const adopted = await call('adopt', { id, holder: 'ann' })
  await call('lease release', { id, lease: adopted.id })
  const token = await call('token create', { workspaces: [id], expires: '1h', label: 'agent' })
  const rotated = await call('token rotate', { id: token.id })
  await call('token list', {})
  await call('token revoke', { id: rotated.id })
}

async function care({ call, stream, folder }: Asker): Promise<void> {
  const { id } = await call('create', { id: 'lost' })
  rmSync(join(folder, 'home/storage/volumes', id), { recursive: true })
  await call('exists', { id })
  await call('usage', {})
  await call('gc', { plan: true })
  await call('gc', {})
  await stream('events', { limit: 5 })
  await call('audit seal', {})
  await call('audit verify', {})
  await call('recover', {})
  await call('doctor', {})
  await call('config show', {})
  await call('shutdown', {})
}
