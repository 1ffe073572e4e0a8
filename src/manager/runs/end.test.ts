import { expect, it } from 'vitest'
import type { OpenRun } from '../../domain/workspace/runs.ts'
import type { Owner, Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { runEndOf } from './end.ts'

const owner = (boot: string): Owner => ({ host: 'here', boot_id: boot, pid_namespace: '1', pid: 1, start_time: '1' })

/** A machine that was started for the time `now`: whoever ran before that is dead. */
const after = (now: string) =>
  ({
    host: { owner: () => owner(now), liveness: (one: Owner) => (one.boot_id === now ? 'alive' : 'dead') },
    logs: { end: async () => undefined },
  }) as unknown as Core

const run = {
  run: 'run_1',
  owner: owner('first'),
  started: { sandbox: 'box_1', isolation: 'none', launched: true },
} as unknown as OpenRun
const workspace = { sandbox: { sandbox: 'box_1', supervisor: owner('first') } } as unknown as Workspace

it('after a reboot a run has failed, with that reason', async () => {
  expect(await runEndOf(after('first'), workspace, run)).toBeUndefined()
  expect(await runEndOf(after('second'), workspace, run)).toEqual({
    exit: null,
    problem: { code: 'lost', message: 'the machine was started anew' },
  })
  // One whose sandbox is not up yet is waited for as long as whoever makes it lives.
  const making = { ...run, started: { ...run.started, launched: false } } as OpenRun
  expect(await runEndOf(after('first'), {} as Workspace, making)).toBeUndefined()
  expect(await runEndOf(after('first'), {} as Workspace, run)).toMatchObject({ problem: { code: 'lost' } })
  const waiting = { ...run, started: undefined }
  expect(await runEndOf(after('first'), workspace, waiting)).toBeUndefined()
  expect(await runEndOf(after('second'), workspace, waiting)).toMatchObject({ problem: { code: 'lost' } })
})
