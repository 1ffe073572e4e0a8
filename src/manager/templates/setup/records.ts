import type { AnyEvent } from '../../../domain/log/event.ts'
import { foldSetups, setupEventTypes, type SetupRecord } from '../../../domain/sources/template-setup.ts'
import { newEvent, type Core, type Request } from '../../core.ts'
import { appendHome } from '../../kernel/home-stream.ts'
import { templatesOf } from '../template-tree.ts'

/** All set-ups that the log knows, oldest first. */
export async function setupsOf(core: Core): Promise<SetupRecord[]> {
  const events: AnyEvent[] = []
  for await (const event of core.store.read('home', { types: setupEventTypes })) events.push(event)
  return foldSetups(events)
}

/** Those whose process died are closed in the log. Nobody was told of them: what they wrote goes. */
export async function closeLostSetups(core: Core, request: Request): Promise<void> {
  for (const { template, sandbox, owner, logs, ended } of await setupsOf(core)) {
    if (ended !== undefined || core.host.liveness(owner) !== 'dead') continue
    for (const log of logs) await core.logs.remove(log)
    const problem = { code: 'lost', message: 'the process that ran it died' }
    const ending = { template, sandbox, exits: [], walls: null, problem }
    await appendHome(core, newEvent(core, request, 'template_setup_ended', ending))
  }
}

/** So many are kept besides those of the versions that are there: of what failed, too. */
const keptLogs = 20

/** Erases what old set-ups wrote. Whatever is in the way of that, the next one tries again. */
export async function dropOldLogs(core: Core): Promise<void> {
  const used = new Set<string>()
  for (const versions of (await templatesOf(core)).values())
    for (const { setup } of versions) for (const log of setup?.logs ?? []) used.add(log)
  const old = (await setupsOf(core)).filter(({ ended }) => ended !== undefined).slice(0, -keptLogs)
  for (const log of old.flatMap(({ logs }) => logs))
    if (!used.has(log)) await core.logs.remove(log).catch(() => undefined)
}
