import { expect, it } from 'vitest'
import { code, type OpenManager } from '../manager.ts'

/** Which agents a machine has is its own affair: these are true of all. */
export function agentContract(open: OpenManager): void {
  it('agents that are known are listed and shown, whether they are installed or not', async () => {
    const { manager } = await open()
    const all = await manager.call('agents list', {})
    expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(['claude', 'codex', 'gemini', 'opencode']))
    const shown = await manager.call('agents show', { name: 'claude' })
    expect(shown).toMatchObject({
      file: null,
      profile: { title: 'Claude Code', binary: 'claude', files: ['CLAUDE.md'] },
    })
    expect(all.find(({ name }) => name === 'claude')).toMatchObject({ program: shown.program })
  })

  it('an agent that nobody knows is an error wherever one can be named, and nothing has begun', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'run' })
    const unknown = code('agent_not_found', { agent: 'nobody' })
    await expect(manager.call('agents show', { name: 'nobody' })).rejects.toEqual(unknown)
    await expect(manager.call('agents test', { name: 'nobody' })).rejects.toEqual(unknown)
    await expect(manager.call('doctor', { agent: 'nobody' })).rejects.toEqual(unknown)
    await expect(manager.call('start', { id: 'run', agent: 'nobody' })).rejects.toEqual(unknown)
    expect(await manager.call('show', { id: 'run' })).toMatchObject({ state: 'ready', sandbox: null })
  })
}
