/** A process that waits for its child cannot stop when the child has. The box is frozen all the same. */
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exec, levels, nextId, processesWith, procFile, run, startBox, until } from './harness.ts'
import { compiled } from './programs.ts'
import { type RawClient, type } from './raw.ts'

async function ask(client: RawClient, kind: number): Promise<void> {
  const id = nextId()
  client.send(kind, id)
  await client.answer(type.ok, id)
}

const state = (pid: number): string => /^State:\s+(\w)/m.exec(procFile(pid, 'status'))?.[1] ?? ''

describe.each(levels)('in a box of level %s', (level) => {
  test.each([
    ['of one thread', 'vforked', [], 'DT'],
    ['that nobody may look into', 'vforked', ['closed'], 'DT'],
    ['of two threads', 'vforked-thread', [], 'TT'],
  ] as const)('one %s', async (_, name, more, states) => {
    const program = compiled(name)
    const { client } = await startBox({ level, walls: ['--bind', dirname(program), dirname(program)] })
    const id = exec(client, [program, ...more])
    await client.wait((it) => it.id === id && it.type === type.stdout)
    await until(() => processesWith(program).length === 2, 'both are there')
    for (let round = 0; round < 3; round++) {
      await ask(client, type.freeze)
      expect(processesWith(program).map(state).toSorted().join('')).toBe(states)
      await ask(client, type.thaw)
      await until(() => processesWith(program).filter((pid) => state(pid) === 'T').length === 0, 'they go on')
    }
    expect((await run(client, ['true'])).exit).toMatchObject({ x: '0' })
  })
})
