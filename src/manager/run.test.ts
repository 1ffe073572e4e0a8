import { expect, it } from 'vitest'
import { memoryCore } from '../testing/memory-core.ts'

it('a run waits while its workspace is being made, and is told as waiting', async () => {
  const seen: string[] = []
  const core = memoryCore({
    onMeasure: async () => {
      const [run] = await core.manager.call('runs', {})
      if (run !== undefined) seen.push(run.state)
    },
  })
  for await (const _ of core.manager.stream('run', { id: 'job', argv: ['true'] })) continue
  expect(seen[0]).toBe('pending')
  expect(await core.manager.call('runs', {})).toMatchObject([{ state: 'completed' }])
})

it('texts that come with a workspace are written where its agent looks for them, too', async () => {
  const core = memoryCore()
  core.agents.programs.set('gemini', '/opt/gemini/bin/gemini')
  const config = { claude_md: 'Be careful.' }
  const items = core.manager.stream('run', { id: 'job', agent: 'gemini', prompt: 'Do it', config })
  // This machine has no such program to run; its workspace is there.
  await expect(
    (async () => {
      for await (const _ of items) continue
    })(),
  ).rejects.toMatchObject({ code: 'file_not_found' })
  for (const path of ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md'])
    expect(String(await core.manager.call('fs read', { id: 'job', path }))).toContain('Be careful.')
  for (const names of [['../x'], ['..']])
    await expect(core.manager.call('create', { id: 'odd', config: { agent_file_names: names } })).rejects.toMatchObject(
      {
        code: 'invalid_input',
      },
    )
})
