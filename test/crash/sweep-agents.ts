import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import type { CrashHome } from './home.ts'
import { make, need, workOf, type Swept } from './sweep.ts'

/** An agent that every machine has, with all that a profile can ask for. */
const profile = {
  binary: '/usr/bin/env',
  command: ['env'],
  state: { mount: '/home/agent/.mine', env: { MINE: '{{state}}' }, files: { 'settings/first.json': '{}' } },
  credentials: [
    {
      from: { variable: 'PATH' },
      broker: {
        name: 'mine',
        upstream: 'http://127.0.0.1:9',
        headers: { 'x-key': 'k{{value}}' },
        env: { URL: '{{url}}' },
        placeholder: { KEY: 'held' },
        arguments: ['URL={{url}}'],
      },
    },
  ],
}

async function makeWithAgent(crash: CrashHome, id: string): Promise<Outputs['show']> {
  mkdirSync(join(crash.home, 'agents.d'), { recursive: true })
  writeFileSync(join(crash.home, 'agents.d/mine.json'), JSON.stringify(profile))
  return make(crash, id)
}

async function said({ manager }: CrashHome, id: string): Promise<string> {
  let text = ''
  for await (const { data } of manager.stream('exec', {
    id,
    argv: ['env', 'sh', '-c', 'ls $MINE/settings; echo $URL $KEY'],
  }))
    if (data !== undefined) text += Buffer.from(data as Uint8Array).toString()
  return text
}

const leftOver = ({ home }: CrashHome): string[] =>
  existsSync(join(home, 'agents')) ? readdirSync(join(home, 'agents')) : []

export const agentOperations: Readonly<Record<string, Swept>> = {
  'start for an agent': {
    calls: 'start',
    prepare: makeWithAgent,
    input: (_crash, id) => ({ id, agent: 'mine' }),
    touch: (_name, before) => ['exec', { id: need(before).view.id, argv: ['true'] }],
    async check(crash, _name, before, done) {
      const { view, tree } = need(before)
      const { id } = view
      const { sandbox } = await crash.manager.call('show', { id })
      if (done) expect(sandbox).not.toBeNull()
      if (sandbox === null) expect(workOf(view.path)).toEqual(tree)
      if (sandbox === null) await crash.manager.call('start', { id, agent: 'mine' })
      expect(await said(crash, id)).toBe('first.json\nhttp://127.0.0.1:3128/.aw/mine held\n')
      await crash.manager.call('stop', { id })
      // What was there only to be protected has gone with the sandbox.
      expect(workOf(view.path)).toEqual(tree)
      await crash.manager.call('destroy', { id, purge: true, include_active: true })
      expect(leftOver(crash)).not.toContain(id)
    },
  },
  'trying an agent': {
    calls: 'agents test',
    prepare: makeWithAgent,
    input: () => ({ name: 'mine' }),
    touch: () => ['recover', {}],
    async check(crash, _name, before) {
      const { view, tree } = need(before)
      await crash.manager.call('recover', {})
      expect(leftOver(crash)).toEqual([])
      expect(workOf(view.path)).toEqual(tree)
      expect(await crash.manager.call('agents test', { name: 'mine' })).toMatchObject({ ok: true })
      expect(leftOver(crash)).toEqual([])
      await crash.manager.call('destroy', { id: view.id, purge: true })
    },
  },
}
