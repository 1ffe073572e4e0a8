import { expect, test } from 'vitest'
import type { Outputs } from '../api/table.ts'
import type { Manager } from '../ports/manager.ts'
import { reportLines, startChecks } from './checks.ts'

type Finding = Outputs['doctor']['findings'][number]

const nothing: Outputs['recover'] = {
  recovered: [],
  busy: [],
  failed: [],
  lost: [],
  orphans: [],
  leftovers: [],
} as never

/** A home of which the doctor says this. */
function homeWith(...findings: readonly Finding[]) {
  const asked: string[] = []
  const manager = {
    async call(name: string) {
      asked.push(name)
      return name === 'doctor' ? { ok: false, findings } : nothing
    },
  } as unknown as Manager
  return {
    asked,
    start: (required = false) => startChecks(manager, { 'sandbox.required': required }, new AbortController().signal),
  }
}

const problem = (name: string): Finding => ({ name, status: 'problem', message: 'it is broken', hint: 'Mend it' })

test.each(['log', 'storage btrfs', 'pool', 'gc', 'something that is new'])(
  'it does not serve if %s is wrong',
  async (name) => {
    const home = homeWith(problem('space'), problem(name))
    await expect(home.start()).rejects.toMatchObject({
      code: 'invalid_config',
      message: `aw does not serve: ${name}: it is broken`,
      hint: 'Mend it',
    })
    expect(home.asked).toEqual(['doctor'])
  },
)

test('it serves where the default level does not work, and says so, unless the settings require it', async () => {
  const home = homeWith(problem('sandbox namespace'))
  expect(reportLines(await home.start())).toEqual(['sandbox namespace: it is broken. Mend it'])
  await expect(home.start(true)).rejects.toMatchObject({ code: 'sandbox_unenforceable', hint: 'Mend it' })
})

test('it does not serve if a wall does not hold', async () => {
  await expect(homeWith(problem('wall files')).start()).rejects.toMatchObject({ code: 'sandbox_unenforceable' })
})

test('what needs the daemon to be mended is told and keeps nobody out', async () => {
  const warning: Finding = { ...problem('home'), status: 'warning' }
  const report = await homeWith(problem('space'), problem('pool device'), warning).start()
  expect(reportLines(report)).toEqual(['space: it is broken. Mend it', 'pool device: it is broken. Mend it'])
})
