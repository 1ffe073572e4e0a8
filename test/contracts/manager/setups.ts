import { expect, it } from 'vitest'
import type { Manager, Progress } from '../../../src/ports/manager.ts'
import { code, text, type OpenManager } from '../manager.ts'
import type { Tree } from '../../support/tree.ts'

const file = (content: string) => ({ kind: 'file' as const, content })
const source: Tree = { lock: file('1'), README: file('about {{title}}\n'), src: { kind: 'directory' } }

const read = async (manager: Manager, id: string, path: string): Promise<string> =>
  text(await manager.call('fs read', { id, path: `work/${path}` }))

const logOf = async (manager: Manager, name: string): Promise<string[]> =>
  (await manager.call('template log', { name })).commands.map(({ output }) => text(output))

async function homeEvents(manager: Manager): Promise<string[]> {
  const types: string[] = []
  for await (const { type, stream } of manager.stream('events', {})) if (stream === 'home') types.push(type)
  return types.filter((type) => type.startsWith('template_'))
}

/** Commands that are run in a template before it is frozen; those that every machine has, also the one in memory. */
export function setupContract(open: OpenManager): void {
  it('what a set-up makes is in every workspace, and what it wrote can be read', async () => {
    const { manager, folder } = await open()
    const news: Progress[] = []
    const setup = [
      ['tee', 'made'],
      ['echo', 'hello'],
    ]
    const made = await manager.call(
      'template create',
      { name: 'page', from: { folder: folder(source) }, setup, variables: { title: 'x' } },
      { onProgress: (progress) => void news.push(progress) },
    )
    expect(made.setup).toMatchObject({
      commands: ['tee made', 'echo hello'],
      inputs: [],
      files: {},
      source_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
      isolation: 'namespace',
      network: 'none',
      ran_for: 1,
      reused: false,
    })
    expect(made.files).toEqual(['work/README'])
    expect(news).toContainEqual({ phase: 'setting up', command: 'echo hello' })
    expect(news.flatMap(({ output }) => (output === undefined ? [] : [text(output)])).join('')).toBe('hello\n')
    expect(await manager.call('template log', { name: 'page' })).toMatchObject({
      template: 'page',
      version: 1,
      problem: null,
      commands: [
        { command: 'tee made', exit: { code: 0 } },
        { command: 'echo hello', lost: 0 },
      ],
    })
    expect(await logOf(manager, 'page@1')).toEqual(['', 'hello\n'])
    for (const id of ['one', 'two']) {
      const { base } = await manager.call('create', { id, template: 'page', variables: { title: id } })
      expect(base).toBe(made.base)
      expect(await read(manager, id, 'made')).toBe('')
      expect(await read(manager, id, 'README')).toBe(`about ${id}\n`)
    }
    expect(await homeEvents(manager)).toEqual(['template_setup_started', 'template_setup_ended', 'template_saved'])
    await manager.call('template remove', { name: 'page' })
    await expect(manager.call('template log', { name: 'page' })).rejects.toEqual(code('template_not_found'))
  })

  it('a set-up that fails leaves nothing but its log; the version before it stays', async () => {
    const { manager, folder } = await open()
    const from = { folder: folder(source) }
    const failing = {
      name: 'page',
      from,
      setup: [
        ['echo', 'first'],
        ['cat', 'missing'],
        ['touch', 'never'],
      ],
    }
    const why = { code: 1, command: 'cat missing', output: [expect.stringContaining('missing') as unknown] }
    await expect(manager.call('template create', failing)).rejects.toEqual(code('setup_failed', why))
    await expect(manager.call('template show', { name: 'page' })).rejects.toEqual(code('template_not_found'))
    expect(await manager.call('template log', { name: 'page' })).toMatchObject({
      version: null,
      problem: { code: 'setup_failed' },
      commands: [{ exit: { code: 0 } }, { exit: { code: 1 } }, { exit: null }],
    })
    await manager.call('template create', { name: 'page', from, setup: [['echo', 'fine']] })
    await expect(manager.call('template update', failing)).rejects.toEqual(code('setup_failed', why))
    const none = { ...failing, setup: [['no-such-program']] }
    await expect(manager.call('template update', none)).rejects.toEqual(code('setup_failed', { code: null }))
    expect(await manager.call('template show', { name: 'page' })).toMatchObject({ version: 1, versions: [1] })
    expect(await logOf(manager, 'page@1')).toEqual(['fine\n'])
    const found = await manager.call('recover', {})
    expect(found).toMatchObject({ orphans: [], leftovers: [], lost: [] })
  })

  it('a set-up runs again when what it depends on has changed, and only then', async () => {
    const { manager, folder } = await open()
    const setup = [['touch', 'made']]
    const first = folder(source)
    const plan = { name: 'page', from: { folder: first }, setup, setup_input: ['lock'] }
    expect((await manager.call('template create', plan)).setup).toMatchObject({
      inputs: ['lock'],
      files: { lock: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown },
    })
    // The same once more, from where it came from.
    expect((await manager.call('template update', { name: 'page' })).setup).toMatchObject({ ran_for: 1, reused: true })
    const other = { folder: folder({ ...source, README: file('other') }) }
    const taken = await manager.call('template update', { name: 'page', from: other })
    expect(taken).toMatchObject({ version: 3, setup: { ran_for: 1, reused: true } })
    await manager.call('create', { id: 'three', template: 'page' })
    expect(await read(manager, 'three', 'README')).toBe('other')
    expect(await read(manager, 'three', 'made')).toBe('')
    expect(await logOf(manager, 'page@3')).toEqual([''])

    const changed = { folder: folder({ ...source, lock: file('2') }) }
    const cases = [
      { from: changed },
      { setup: [['touch', 'another']] },
      { allow: ['example.com'] },
      { setup_again: true },
      { setup_input: [] },
    ] as const
    for (const [i, change] of cases.entries())
      expect([change, (await manager.call('template update', { name: 'page', ...change })).setup]).toEqual([
        change,
        expect.objectContaining({ ran_for: i + 4, reused: false }) as unknown,
      ])
    const without = await manager.call('template update', { name: 'page', without_setup: true })
    expect(without).toMatchObject({ version: 9, setup: null })
    await expect(manager.call('template log', { name: 'page@9' })).rejects.toEqual(code('run_not_found'))
  })

  it('what a set-up did to the source itself is not taken over for another one', async () => {
    const { manager, folder } = await open()
    const plan = { name: 'page', setup: [['rm', 'README']], setup_input: ['lock'] }
    await manager.call('template create', { ...plan, from: { folder: folder(source) } })
    const same = await manager.call('template update', { name: 'page' })
    expect(same.setup).toMatchObject({ reused: true })
    await manager.call('create', { id: 'same', template: 'page' })
    await expect(read(manager, 'same', 'README')).rejects.toEqual(code('file_not_found'))
    const other = { folder: folder({ ...source, more: file('more') }) }
    const again = await manager.call('template update', { name: 'page', from: other })
    expect(again.setup).toMatchObject({ reused: false, ran_for: 3 })
  })

  it('what cannot be right is refused before anything is made', async () => {
    const { manager, folder } = await open()
    const from = { folder: folder(source) }
    const wrong = [
      { setup_input: ['lock'] },
      { allow: ['npm'] },
      { timeout_ms: 1 },
      { setup: [''] },
      { setup: [[]] },
      { setup: [['true']], setup_input: ['none-such'] },
      { setup: [['true']], network: 'none', allow: ['npm'] },
      { setup: Array.from({ length: 51 }, () => ['true']) },
    ] as const
    for (const more of wrong)
      await expect(manager.call('template create', { name: 'page', from, ...more })).rejects.toEqual(
        code('invalid_input'),
      )
    expect(await manager.call('template list', {})).toEqual([])
    expect(await homeEvents(manager)).toEqual([])
  })

  it('a set-up that is cancelled is undone', async () => {
    const { manager, folder } = await open()
    const stop = new AbortController()
    const onProgress = ({ command }: Progress): void => {
      if (command === 'sleep 600') setTimeout(() => stop.abort(), 50)
    }
    const input = { name: 'page', from: { folder: folder(source) }, setup: [['sleep', '600']] }
    const call = manager.call('template create', input, { signal: stop.signal, onProgress })
    await expect(call).rejects.toEqual(code('aborted'))
    expect(await manager.call('template list', {})).toEqual([])
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], leftovers: [] })
    expect(await manager.call('template log', { name: 'page' })).toMatchObject({ problem: { code: 'aborted' } })
  })
}
