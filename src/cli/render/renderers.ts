import type { Operation } from '../../api/operation.ts'
import { createdWorkspace, destroyed, existence, pathOnly, raw } from './basic.ts'
import type { Renderer, StreamRenderer } from './view.ts'

/** The commands that scripts call most are shown without loading anything more. */
const quick: Readonly<Record<string, Renderer>> = {
  create: createdWorkspace,
  ensure: createdWorkspace,
  import: createdWorkspace,
  path: pathOnly,
  exists: existence,
  destroy: destroyed,
  'fs read': raw,
}

const lazy: Readonly<Record<string, () => Promise<Renderer>>> = {
  list: async () => (await import('./workspaces/list.ts')).list,
  show: async () => (await import('./workspaces/show.ts')).show,
  paths: async () => (await import('./workspaces/show.ts')).paths,
  rename: async () => (await import('./snapshots/confirmations.ts')).renamed,
  label: async () => (await import('./snapshots/confirmations.ts')).labelled,
  ttl: async () => (await import('./snapshots/confirmations.ts')).ttlSet,
  limit: async () => (await import('./snapshots/confirmations.ts')).limitSet,
  reset: async () => (await import('./snapshots/confirmations.ts')).reset,
  undelete: async () => (await import('./snapshots/confirmations.ts')).undeleted,
  purge: async () => (await import('./snapshots/confirmations.ts')).purged,
  'prompt adapt': async () => (await import('./snapshots/confirmations.ts')).adaptedPrompt,
  'lease acquire': async () => (await import('./snapshots/confirmations.ts')).lease,
  'lease renew': async () => (await import('./snapshots/confirmations.ts')).lease,
  'lease release': async () => (await import('./snapshots/confirmations.ts')).released,
  adopt: async () => (await import('./snapshots/confirmations.ts')).adopted,
  start: async () => (await import('./workspaces/sandbox.ts')).started,
  stop: async () => (await import('./workspaces/sandbox.ts')).stopped,
  runs: async () => (await import('./workspaces/runs.ts')).runs,
  status: async () => (await import('./workspaces/status.ts')).status,
  cancel: async () => (await import('./workspaces/runs.ts')).run,
  wait: async () => (await import('./workspaces/runs.ts')).run,
  'agents list': async () => (await import('./home/agents.ts')).agents,
  'agents show': async () => (await import('./home/agents.ts')).agent,
  'agents test': async () => (await import('./home/doctor.ts')).doctor,
  history: async () => (await import('./workspaces/sandbox.ts')).history,
  requests: async () => (await import('./workspaces/sandbox.ts')).requests,
  'env set': async () => (await import('./workspaces/sandbox.ts')).variables,
  'env unset': async () => (await import('./workspaces/sandbox.ts')).variables,
  'env list': async () => (await import('./workspaces/sandbox.ts')).variables,
  snapshot: async () => (await import('./snapshots/snapshot.ts')).snapshotCreated,
  'snapshot label': async () => (await import('./snapshots/snapshot.ts')).snapshotLabelled,
  'snapshot remove': async () => (await import('./snapshots/snapshot.ts')).snapshotsRemoved,
  snapshots: async () => (await import('./snapshots/snapshots.ts')).snapshots,
  describe: async () => (await import('./snapshots/snapshot.ts')).described,
  branch: async () => (await import('./snapshots/snapshot.ts')).branches,
  restore: async () => (await import('./snapshots/restored.ts')).restored,
  undo: async () => (await import('./snapshots/restored.ts')).undone,
  redo: async () => (await import('./snapshots/restored.ts')).redone,
  fork: async () => (await import('./snapshots/fork.ts')).forked,
  verify: async () => (await import('./home/verify.ts')).verified,
  export: async () => (await import('./workspaces/exported.ts')).exported,
  cp: async () => (await import('./workspaces/sources.ts')).copied,
  'bases list': async () => (await import('./workspaces/sources.ts')).bases,
  'bases remove': async () => (await import('./workspaces/sources.ts')).baseRemoved,
  'template create': async () => (await import('./workspaces/sources.ts')).templateSaved,
  'template update': async () => (await import('./workspaces/sources.ts')).templateSaved,
  'template list': async () => (await import('./workspaces/sources.ts')).templates,
  'template show': async () => (await import('./workspaces/sources.ts')).template,
  'template log': async () => (await import('./workspaces/setup.ts')).setupLog,
  'template remove': async () => (await import('./workspaces/sources.ts')).templateRemoved,
  'shared create': async () => (await import('./workspaces/sources.ts')).sharedCreated,
  'shared list': async () => (await import('./workspaces/sources.ts')).sharedAreas,
  'shared remove': async () => (await import('./workspaces/sources.ts')).sharedRemoved,
  'shared undelete': async () => (await import('./workspaces/sources.ts')).sharedCreated,
  'token create': async () => (await import('./home/tokens.ts')).createdToken,
  'token rotate': async () => (await import('./home/tokens.ts')).createdToken,
  'token list': async () => (await import('./home/tokens.ts')).tokens,
  'token revoke': async () => (await import('./home/tokens.ts')).revoked,
  events: async () => (await import('./home/events.ts')).event,
  'audit verify': async () => (await import('./home/audit.ts')).verified,
  'audit seal': async () => (await import('./home/audit.ts')).sealed,
  gc: async () => (await import('./home/maintenance.ts')).gc,
  recover: async () => (await import('./home/maintenance.ts')).recover,
  shutdown: async () => (await import('./home/maintenance.ts')).shutdown,
  usage: async () => (await import('./workspaces/usage.ts')).usage,
  doctor: async () => (await import('./home/doctor.ts')).doctor,
  'config show': async () => (await import('./home/config.ts')).config,
  'fs list': async () => (await import('./workspaces/files.ts')).listing,
  'fs tree': async () => (await import('./workspaces/tree.ts')).tree,
  'fs stat': async () => (await import('./workspaces/files.ts')).stat,
  'fs resolve': async () => (await import('./workspaces/files.ts')).resolved,
  'fs write': async () => (await import('./workspaces/files.ts')).changed,
  'fs upload': async () => (await import('./workspaces/files.ts')).changed,
  'fs append': async () => (await import('./workspaces/files.ts')).changed,
  'fs mkdir': async () => (await import('./workspaces/files.ts')).changed,
  'fs move': async () => (await import('./workspaces/files.ts')).changed,
  'fs copy': async () => (await import('./workspaces/files.ts')).changed,
  'fs remove': async () => (await import('./workspaces/files.ts')).removed,
}

/** An operation without a renderer of its own is shown field by field. */
export async function rendererFor({ name, form }: Operation): Promise<Renderer> {
  const ready = quick[name] ?? (form === 'bytes' ? raw : undefined)
  return ready ?? (await (lazy[name] ?? generic)())
}

/** For one run of a stream: it may count what it has shown. */
export async function streamRendererFor(operation: Operation): Promise<StreamRenderer> {
  if (operation.name === 'diff') return (await import('./snapshots/diff.ts')).differences()
  return { item: await rendererFor(operation) }
}

const generic = async (): Promise<Renderer> => (await import('./generic.ts')).generic
