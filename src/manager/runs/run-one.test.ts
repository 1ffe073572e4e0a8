import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'
import { collect } from '../../../test/support/collect.ts'
import { memoryCore } from '../../../test/memory/core.ts'

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

it('a workspace that somebody worked in stays, though the run that it was made for could not begin', async () => {
  let isWritten = false
  const core = memoryCore({
    onMeasure: async () => {
      if (isWritten || !(await core.manager.call('exists', { id: 'job' })).exists) return
      isWritten = true
      await core.manager.call('fs write', { id: 'job', path: 'work/mine', content: 'mine' })
    },
  })
  const input = { id: 'job', argv: ['true'], cwd: '../../elsewhere' }
  await expect(collect(core.manager.stream('run', input))).rejects.toMatchObject({ code: 'path_traversal_attempt' })
  expect(isWritten).toBe(true)
  expect(await core.manager.call('list', { all: true })).toMatchObject([{ workspace_id: 'job/main', state: 'stopped' }])
  expect(String(await core.manager.call('fs read', { id: 'job', path: 'work/mine' }))).toBe('mine')
})

it('texts that come with a workspace are written where its agent looks for them, too', async () => {
  const core = memoryCore()
  core.agents.programs.set('gemini', '/opt/gemini/bin/gemini')
  const config = { claude_md: 'Be careful.' }
  const items = core.manager.stream('run', { id: 'job', agent: 'gemini', prompt: 'Do it', config })
  // This machine has no such program to run; its workspace is in the trash.
  await expect(
    (async () => {
      for await (const _ of items) continue
    })(),
  ).rejects.toMatchObject({ code: 'file_not_found' })
  await core.manager.call('undelete', { id: 'job' })
  for (const path of ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md'])
    expect(String(await core.manager.call('fs read', { id: 'job', path }))).toContain('Be careful.')
  for (const names of [['../x'], ['..']])
    await expect(core.manager.call('create', { id: 'odd', config: { agent_file_names: names } })).rejects.toMatchObject(
      {
        code: 'invalid_input',
      },
    )
})

it('no word of a prompt is in the log, whatever becomes of the run; what is kept of it is read beside the log', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aw-prompt-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  await using manager = await openManager({ home, env: {} })
  const prompt = 'Mend the heliotrope\nand the chrysanthemum'
  const run = async (more: object): Promise<void> => {
    for await (const _ of manager.stream('run', { prompt, isolation: 'none', ...more })) continue
  }
  await run({ id: 'job', argv: ['touch', 'new'] })
  await run({ id: 'job', argv: ['false'] })
  await run({ id: 'job', argv: ['/nowhere/program'] }).catch(() => undefined)
  await run({ id: 'many', count: 2, argv: ['touch', 'new'] })
  const files = readdirSync(home).filter((name) => name.startsWith('log.'))
  expect(files).toContain('log.db')
  for (const file of files)
    expect(readFileSync(join(home, file)).toString('latin1')).not.toMatch(/heliotrope|chrysanth/)
  expect(await manager.call('runs', { id: 'job' })).toMatchObject(
    [1, 2, 3].map((number) => ({ label: `run ${number}`, prompt: 'Mend the heliotrope' })),
  )
})

it('walls that cannot be built are refused before a workspace is made for them, or anything is fetched', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aw-walls-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  await using manager = await openManager({ home, env: {} })
  for (const more of [{}, { count: 2 }]) {
    const options = { id: 'job', argv: ['true'], repo: '/nowhere/at/all', ...more }
    const items = manager.stream('run', { ...options, isolation: 'none', network: 'none' })
    await expect(collect(items)).rejects.toMatchObject({ code: 'sandbox_unenforceable' })
  }
  expect(await manager.call('list', { all: true })).toEqual([])
  expect(readdirSync(join(home, 'storage/tmp'))).toEqual([])
})
