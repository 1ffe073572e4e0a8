import type { Operation } from '../../api/operation.ts'
import { destroyed, existence, made, pathOnly, raw } from './quick.ts'
import type { Renderer, StreamRenderer } from './view.ts'

/** The commands that scripts call most are shown without loading anything more. */
const quick: Readonly<Record<string, Renderer>> = {
  create: made,
  ensure: made,
  import: made,
  path: pathOnly,
  exists: existence,
  destroy: destroyed,
  'fs read': raw,
}

const lazy: Readonly<Record<string, () => Promise<Renderer>>> = {
  list: async () => (await import('./list.ts')).list,
  show: async () => (await import('./show.ts')).show,
  paths: async () => (await import('./show.ts')).paths,
  rename: async () => (await import('./changes.ts')).renamed,
  label: async () => (await import('./changes.ts')).labelled,
  ttl: async () => (await import('./changes.ts')).ending,
  limit: async () => (await import('./changes.ts')).limited,
  reset: async () => (await import('./changes.ts')).reset,
  undelete: async () => (await import('./changes.ts')).undeleted,
  purge: async () => (await import('./changes.ts')).purged,
  'prompt adapt': async () => (await import('./changes.ts')).adapted,
  'lease acquire': async () => (await import('./changes.ts')).lease,
  'lease renew': async () => (await import('./changes.ts')).lease,
  'lease release': async () => (await import('./changes.ts')).released,
  adopt: async () => (await import('./changes.ts')).adopted,
  start: async () => (await import('./sandbox.ts')).started,
  stop: async () => (await import('./sandbox.ts')).stopped,
  runs: async () => (await import('./runs.ts')).runs,
  status: async () => (await import('./status.ts')).status,
  cancel: async () => (await import('./runs.ts')).run,
  wait: async () => (await import('./runs.ts')).run,
  'agents list': async () => (await import('./agents.ts')).agents,
  'agents show': async () => (await import('./agents.ts')).agent,
  'agents test': async () => (await import('./doctor.ts')).doctor,
  history: async () => (await import('./sandbox.ts')).history,
  requests: async () => (await import('./sandbox.ts')).requests,
  'env set': async () => (await import('./sandbox.ts')).variables,
  'env unset': async () => (await import('./sandbox.ts')).variables,
  'env list': async () => (await import('./sandbox.ts')).variables,
  snapshot: async () => (await import('./snapshot.ts')).snapshotMade,
  'snapshot label': async () => (await import('./snapshot.ts')).snapshotLabelled,
  'snapshot remove': async () => (await import('./snapshot.ts')).snapshotsRemoved,
  snapshots: async () => (await import('./snapshots.ts')).snapshots,
  describe: async () => (await import('./snapshot.ts')).described,
  branch: async () => (await import('./snapshot.ts')).branches,
  restore: async () => (await import('./restored.ts')).restored,
  undo: async () => (await import('./restored.ts')).undone,
  redo: async () => (await import('./restored.ts')).redone,
  fork: async () => (await import('./fork.ts')).forked,
  verify: async () => (await import('./verify.ts')).verified,
  export: async () => (await import('./exported.ts')).exported,
  cp: async () => (await import('./sources.ts')).copied,
  'bases list': async () => (await import('./sources.ts')).bases,
  'bases remove': async () => (await import('./sources.ts')).baseRemoved,
  'template create': async () => (await import('./sources.ts')).templateSaved,
  'template update': async () => (await import('./sources.ts')).templateSaved,
  'template list': async () => (await import('./sources.ts')).templates,
  'template show': async () => (await import('./sources.ts')).template,
  'template log': async () => (await import('./setup.ts')).setupLog,
  'template remove': async () => (await import('./sources.ts')).templateRemoved,
  'shared create': async () => (await import('./sources.ts')).sharedMade,
  'shared list': async () => (await import('./sources.ts')).sharedAreas,
  'shared remove': async () => (await import('./sources.ts')).sharedRemoved,
  'shared undelete': async () => (await import('./sources.ts')).sharedMade,
  'token create': async () => (await import('./tokens.ts')).made,
  'token rotate': async () => (await import('./tokens.ts')).made,
  'token list': async () => (await import('./tokens.ts')).tokens,
  'token revoke': async () => (await import('./tokens.ts')).revoked,
  events: async () => (await import('./events.ts')).event,
  'audit verify': async () => (await import('./audit.ts')).verified,
  'audit seal': async () => (await import('./audit.ts')).sealed,
  gc: async () => (await import('./care.ts')).gc,
  recover: async () => (await import('./care.ts')).recover,
  shutdown: async () => (await import('./care.ts')).shutdown,
  usage: async () => (await import('./usage.ts')).usage,
  doctor: async () => (await import('./doctor.ts')).doctor,
  'config show': async () => (await import('./config.ts')).config,
  'fs list': async () => (await import('./files.ts')).listing,
  'fs tree': async () => (await import('./tree.ts')).tree,
  'fs stat': async () => (await import('./files.ts')).stat,
  'fs resolve': async () => (await import('./files.ts')).resolved,
  'fs write': async () => (await import('./files.ts')).changed,
  'fs upload': async () => (await import('./files.ts')).changed,
  'fs append': async () => (await import('./files.ts')).changed,
  'fs mkdir': async () => (await import('./files.ts')).changed,
  'fs move': async () => (await import('./files.ts')).changed,
  'fs copy': async () => (await import('./files.ts')).changed,
  'fs remove': async () => (await import('./files.ts')).removed,
}

/** An operation without a renderer of its own is shown field by field. */
export async function rendererFor({ name, form }: Operation): Promise<Renderer> {
  const ready = quick[name] ?? (form === 'bytes' ? raw : undefined)
  return ready ?? (await (lazy[name] ?? generic)())
}

/** For one run of a stream: it may count what it has shown. */
export async function streamRendererFor(operation: Operation): Promise<StreamRenderer> {
  if (operation.name === 'diff') return (await import('./diff.ts')).differences()
  return { item: await rendererFor(operation) }
}

const generic = async (): Promise<Renderer> => (await import('./generic.ts')).generic
