import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { CommandId } from '../../domain/ids.ts'
import { commandText, type SetupRecord } from '../../domain/sources/template-setup.ts'
import { findTemplate, type Template } from '../../domain/sources/templates.ts'
import type { Core } from '../core.ts'
import { templatesOf } from './template-tree.ts'
import { setupsOf } from './setup/records.ts'

type Log = Outputs['template log']

/** What the commands of a set-up wrote: of a version, or of the last that was tried, whatever became of it. */
export async function templateLog(core: Core, input: Inputs['template log']): Promise<Log> {
  const [name = ''] = input.name.split('@')
  const all = await templatesOf(core)
  const versions = all.get(name) ?? []
  const setups = (await setupsOf(core)).filter(({ template }) => template === name)
  const record = input.name.includes('@')
    ? ofVersion(findTemplate(all, input.name), setups)
    : await lastOf(core, setups, versions)
  if (record === undefined) throw none(input.name, findTemplate(all, input.name))
  const most = (input.last_kb ?? defaultKb) * 1024
  const commands = record.commands.map(async (command, i) => {
    const exit = record.ended?.exits[i] ?? null
    const log = record.logs[i]
    return { command: commandText(command), exit, ...(await written(core, log, most)) }
  })
  return {
    template: name,
    version: versions.find(({ setup }) => setup?.logs[0] === record.logs[0])?.setup?.version ?? null,
    started_at: record.started_at,
    ended_at: record.ended?.at ?? null,
    problem: record.ended?.problem ?? null,
    notes: record.ended?.walls?.notes ?? [],
    commands: await Promise.all(commands),
  }
}

const defaultKb = 1024

const ofVersion = ({ setup }: Template, setups: readonly SetupRecord[]): SetupRecord | undefined =>
  setups.find(({ logs }) => setup !== null && logs[0] === setup.logs[0])

/** Not of a template that was removed since. */
async function lastOf(
  core: Core,
  setups: readonly SetupRecord[],
  versions: readonly Template[],
): Promise<SetupRecord | undefined> {
  const last = setups.at(-1)
  const isFailed = last?.ended?.problem != null
  if (last === undefined || isFailed || versions.some(({ setup }) => setup?.logs[0] === last.logs[0])) return last
  // One that runs now has no version yet.
  return last.ended === undefined && core.host.liveness(last.owner) !== 'dead' ? last : undefined
}

const none = (ref: string, { name, version }: Template): AwError =>
  new AwError('run_not_found', `Nothing is known of a set-up of ${name}@${version}`, {
    hint: `See whether it has one: aw template show ${ref}`,
    data: { template: ref },
  })

async function written(
  core: Core,
  log: CommandId | undefined,
  most: number,
): Promise<{ output: Uint8Array; lost: number }> {
  const parts: Uint8Array[] = []
  let [bytes, lost] = [0, 0]
  if (log === undefined) return { output: new Uint8Array(0), lost }
  for await (const item of core.logs.read(log, { last: most })) {
    parts.push(item.data)
    bytes += item.data.length
    lost += item.lost ?? 0
    while (bytes - (parts[0]?.length ?? 0) >= most) {
      const dropped = parts.shift()?.length ?? 0
      bytes -= dropped
      lost += dropped
    }
  }
  // Not a Buffer: that would say itself how it becomes JSON.
  return { output: new Uint8Array(Buffer.concat(parts)), lost }
}
