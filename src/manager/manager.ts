import type { Inputs, OperationName, Outputs, StreamName } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { newId, type Core, type Request } from './core.ts'
import { listBases, removeBase } from './sources/bases.ts'
import { listAgents, showAgent } from './agents/agents.ts'
import { testAgent } from './agents/agents-test.ts'
import { cp } from './files/cp.ts'
import { destroy } from './trash/destroy.ts'
import { showConfig } from './home/config-show.ts'
import { doctor } from './home/doctor.ts'
import { exportResults } from './results/export.ts'
import { importArchive } from './results/import.ts'
import { fsDownload } from './files/fs-download.ts'
import { fsUpload } from './files/fs-upload.ts'
import * as fs from './files/fs.ts'
import { branch } from './snapshots/branch.ts'
import { connect } from './sandboxes/connect.ts'
import { diff } from './diff/diff.ts'
import * as env from './workspaces/env.ts'
import { exec } from './sandboxes/exec.ts'
import { fork } from './snapshots/fork.ts'
import { gc } from './space/gc.ts'
import { history } from './snapshots/history.ts'
import { label } from './workspaces/label.ts'
import { limit } from './space/limit.ts'
import { adopt } from './access/adopt.ts'
import { acquireLease, releaseLease, renewLease } from './access/lease.ts'
import { exists } from './workspaces/exists.ts'
import { list } from './workspaces/list.ts'
import { path } from './workspaces/path.ts'
import { paths } from './workspaces/paths.ts'
import { adaptPrompt } from './workspaces/prompt-adapt.ts'
import { show } from './workspaces/show.ts'
import { sealAudit, verifyAudit } from './audit/audit.ts'
import { events } from './audit/events.ts'
import { describe } from './snapshots/describe.ts'
import { snapshots } from './snapshots/snapshots.ts'
import { verify } from './snapshots/verify.ts'
import { start } from './sandboxes/start.ts'
import { stop } from './sandboxes/stop.ts'
import { checkpointSignal } from './kernel/operations.ts'
import { purge } from './trash/purge.ts'
import { recoverOperation } from './recovery/recover-operation.ts'
import { recover } from './recovery/recover.ts'
import { labelSnapshot } from './snapshots/snapshot-label.ts'
import { removeSnapshot } from './snapshots/snapshot-remove.ts'
import { rename } from './workspaces/rename.ts'
import { requests } from './sandboxes/requests.ts'
import { cancel } from './runs/cancel.ts'
import { run } from './runs/run.ts'
import { logs } from './runs/logs.ts'
import { runs } from './runs/runs.ts'
import { wait } from './runs/wait.ts'
import { status } from './workspaces/status.ts'
import { reset } from './workspaces/reset.ts'
import { redo } from './snapshots/redo.ts'
import { restore } from './snapshots/restore.ts'
import { undo } from './snapshots/undo.ts'
import * as shared from './shared/shared.ts'
import { shutdown } from './home/shutdown.ts'
import { templateLog } from './templates/template-log.ts'
import { snapshot } from './snapshots/snapshot.ts'
import { create } from './workspaces/create.ts'
import { ensure } from './workspaces/ensure.ts'
import * as templates from './templates/template.ts'
import { tokenCache } from './access/token-cache.ts'
import { tokenClock } from './access/token-clock.ts'
import * as tokens from './access/token.ts'
import { explainMissingTree } from './kernel/missing-tree.ts'
import { ttl } from './workspaces/ttl.ts'
import { undelete } from './trash/undelete.ts'
import { usage } from './space/usage.ts'

type CallName = Exclude<OperationName, StreamName>
type UseCases = { [N in CallName]: (core: Core, input: Inputs[N], request: Request) => Promise<Outputs[N]> }

/** One line for each operation of the table; the compiler sees to it that none is missing. */
const useCases: UseCases = {
  create,
  ensure,
  list,
  show,
  path,
  exists,
  paths,
  'prompt adapt': adaptPrompt,
  rename,
  label,
  ttl,
  limit,
  reset,
  destroy,
  undelete,
  purge,
  start,
  stop,
  'env set': env.setEnv,
  'env unset': env.unsetEnv,
  'env list': env.listEnv,
  runs,
  cancel,
  wait,
  status,
  'agents list': listAgents,
  'agents show': showAgent,
  'agents test': testAgent,
  history,
  requests,
  snapshot,
  snapshots,
  describe,
  branch,
  restore,
  undo,
  redo,
  'snapshot label': labelSnapshot,
  'snapshot remove': removeSnapshot,
  fork,
  verify,
  export: exportResults,
  import: importArchive,
  cp,
  'bases list': listBases,
  'bases remove': removeBase,
  'template create': templates.createTemplate,
  'template update': templates.updateTemplate,
  'template list': templates.listTemplates,
  'template show': templates.showTemplate,
  'template log': templateLog,
  'template remove': templates.removeTemplate,
  'shared create': shared.createShared,
  'shared list': shared.listShared,
  'shared remove': shared.removeShared,
  'shared undelete': shared.undeleteShared,
  'lease acquire': acquireLease,
  'lease renew': renewLease,
  'lease release': releaseLease,
  adopt,
  'fs read': fs.fsRead,
  'fs write': fs.fsWrite,
  'fs append': fs.fsAppend,
  'fs upload': fsUpload,
  'fs list': fs.fsList,
  'fs tree': fs.fsTree,
  'fs stat': fs.fsStat,
  'fs resolve': fs.fsResolve,
  'fs mkdir': fs.fsMkdir,
  'fs move': fs.fsMove,
  'fs copy': fs.fsCopy,
  'fs remove': fs.fsRemove,
  'token create': tokens.createToken,
  'token list': tokens.listTokens,
  'token revoke': tokens.revokeToken,
  'token rotate': tokens.rotateToken,
  'audit verify': verifyAudit,
  'audit seal': sealAudit,
  gc,
  recover,
  shutdown,
  usage,
  doctor,
  'config show': showConfig,
}

type Streams = { [N in StreamName]: (core: Core, input: Inputs[N], request: Request) => AsyncIterable<Outputs[N]> }

const streams: Streams = { events, diff, exec, connect, run, logs, 'fs download': fsDownload }

export function makeManager(
  parts: Omit<Core, 'recover' | 'tokens' | 'tokenTime'>,
  close: () => Promise<void>,
): Manager {
  const { store, clock } = parts
  const own = { tokens: tokenCache(store), tokenTime: tokenClock(store, clock) }
  const core: Core = { ...parts, ...own, recover: (...given) => recoverOperation(...given) }
  const requestOf = (context: CallContext): Request => {
    let id = context.correlationId
    return {
      ...context,
      actor: context.actor ?? core.actor,
      // Made when an event asks for it. What only reads does without, and need not load what makes it (3 ms).
      get correlationId() {
        return (id ??= newId(core, 'cor'))
      },
    }
  }
  let closed = false
  const assertOpen = (): void => {
    if (closed) throw new AwError('invalid_state', 'This aw is closed', { hint: 'Open it again' })
  }
  return {
    async call(name, input, context = {}) {
      assertOpen()
      if (!Object.hasOwn(useCases, name)) throw new AwError('unsupported', `There is no operation ${name}`)
      const useCase = useCases[name] as (core: Core, input: unknown, request: Request) => Promise<never>
      try {
        const request = requestOf(context)
        checkpointSignal(request)
        return await useCase(core, input, request)
      } catch (error) {
        throw await explainMissingTree(core, error)
      }
    },
    stream(name, input, context = {}) {
      assertOpen()
      return explaining(core, streams[name](core, input, requestOf(context)))
    },
    async [Symbol.asyncDispose]() {
      if (closed) return
      closed = true
      await close()
    },
  }
}

async function* explaining<T>(core: Core, items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw await explainMissingTree(core, error)
  }
}
