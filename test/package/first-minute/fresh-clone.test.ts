/** The README's first commands on a machine that has git, Node 20 and npm, and nothing else of what we use. */
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bareMachine, type BareMachine, type Running, type Who } from './bare-machine.ts'

describe.each<Who>(['root', 'an ordinary user'])('as %s', (who) => {
  let machine: BareMachine
  beforeAll(async () => {
    machine = await bareMachine(who)
  })
  afterAll(() => machine[Symbol.asyncDispose]())

  test('npm start serves, and what it suggests works as printed', async () => {
    expect(machine.sh('command -v bwrap mkfs.ext4 gcc apt-get').stdout).toBe('')

    await using daemon = machine.start('npm start')
    const greeting = await greetingOf(daemon)
    const socket = join(machine.home, '.aw/aw.sock')
    expect(greeting).toContain(socket)
    expect(greeting).toMatch(
      /^! sandbox namespace: bubblewrap is not installed; exec, start and run are refused .*apt-get install/m,
    )
    expect(await get(socket, '/api/workspaces')).toBe('[]\n')

    const suggested = greeting.split('\n').flatMap((line) => /^ {2}(npm run .+)$/.exec(line)?.[1] ?? [])
    expect(suggested).toHaveLength(3)
    for (const line of suggested) expect([line, machine.sh(line)]).toMatchObject([line, { code: 0 }])
  })

  test('a workspace is made, kept, compared and brought back without a daemon', async () => {
    const aw = (args: string): ReturnType<typeof machine.sh> => machine.sh(`npm run -s aw -- ${args}`)

    expect(aw('tour')).toMatchObject({ code: 0 })
    const path = machine.sh('cd docs && npm run -s aw -- create fix --from .').stdout.trim()
    expect(existsSync(join(path, 'work/README.md'))).toBe(true)
    machine.sh(`echo changed > '${path}/work/README.md'`)
    expect(aw('diff fix')).toMatchObject({ code: 0, stdout: expect.stringContaining('M\twork/README.md') as string })
    expect(aw('snapshot fix')).toMatchObject({ code: 0 })
    machine.sh(`rm -r '${path}/work'`)
    expect(aw('undo fix')).toMatchObject({ code: 0 })
    expect(machine.sh(`cat '${path}/work/README.md'`).stdout).toBe('changed\n')

    const refused = aw('--json exec fix -- true')
    expect(refused.code).toBe(125)
    expect(JSON.parse(refused.stderr)).toMatchObject({
      code: 'sandbox_unenforceable',
      hint: expect.stringContaining('apt-get install bubblewrap') as string,
    })
    expect(aw('destroy fix')).toMatchObject({ code: 0 })
    expect(aw('undelete fix')).toMatchObject({ code: 0 })
  })
})

/** What a daemon prints until it says how to end it. */
async function greetingOf({ stdout, stderr }: Running): Promise<string> {
  const lines: string[] = []
  stderr.on('data', (data: Buffer) => lines.push(data.toString()))
  for await (const line of createInterface(stdout)) {
    lines.push(line)
    if (line.includes('Ctrl-C')) return lines.join('\n')
  }
  throw new Error(`It ended instead of serving:\n${lines.join('\n')}`)
}

const get = (socketPath: string, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path, timeout: 20_000 }, (response) => {
      let text = ''
      response.on('data', (data: Buffer) => (text += data.toString()))
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
