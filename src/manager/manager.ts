import type { Inputs, OperationName, Outputs, StreamName } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { newId, type Core, type Request } from './core.ts'
import { listBases, removeBase } from './base-operations.ts'
import { listAgents, showAgent } from './agents/look.ts'
import { testAgent } from './agents/test.ts'
import { cp } from './copy.ts'
import { destroy } from './destroy.ts'
import { doctor, showConfig } from './doctor.ts'
import { exportResults, importArchive } from './export.ts'
import { fsDownload, fsUpload } from './file-streams.ts'
import * as files from './files.ts'
import { branch } from './branch.ts'
import { connect } from './connect.ts'
import { diff } from './diff.ts'
import * as env from './env.ts'
import { exec } from './exec-all.ts'
import { fork } from './fork.ts'
import { gc } from './gc.ts'
import { history } from './history.ts'
import { label } from './label.ts'
import { limit } from './limit.ts'
import { acquireLease, adopt, releaseLease, renewLease } from './lease.ts'
import { start, stop } from './launch.ts'
import { events, sealAudit, verifyAudit } from './log.ts'
import { describe, snapshots, verify } from './look-snapshots.ts'
import * as look from './look.ts'
import { checkpointSignal } from './operations.ts'
import { purge } from './purge.ts'
import { recoverOperation } from './recover-operation.ts'
import { recover } from './recover.ts'
import { labelSnapshot, removeSnapshot } from './remove-snapshots.ts'
import { rename } from './rename.ts'
import { requests } from './requests.ts'
import { cancel } from './cancel.ts'
import { run } from './run-many.ts'
import { logs } from './run-logs.ts'
import { runs, wait } from './runs.ts'
import { status } from './status.ts'
import { reset } from './reset.ts'
import { redo, restore, undo } from './restore.ts'
import * as shared from './shared.ts'
import { undeleteShared } from './shared-trash.ts'
import { shutdown } from './shutdown.ts'
import { templateLog } from './setup/log.ts'
import { snapshot } from './snapshot.ts'
import { create, ensure } from './start.ts'
import * as templates from './templates.ts'
import { tokenBook } from './token-book.ts'
import { tokenTime } from './token-time.ts'
import * as tokens from './tokens.ts'
import { explained } from './tree-gone.ts'
import { ttl } from './ttl.ts'
import { undelete } from './undelete.ts'
import { usage } from './usage.ts'

type CallName = Exclude<OperationName, StreamName>
type UseCases = { [N in CallName]: (core: Core, input: Inputs[N], request: Request) => Promise<Outputs[N]> }

/** One line for each operation of the table; the compiler sees to it that none is missing. */
const useCases: UseCases = {
  create,
  ensure,
  list: look.list,
  show: look.show,
  path: look.path,
  exists: look.exists,
  paths: look.paths,
  'prompt adapt': look.adaptPrompt,
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
  'shared undelete': undeleteShared,
  'lease acquire': acquireLease,
  'lease renew': renewLease,
  'lease release': releaseLease,
  adopt,
  'fs read': files.fsRead,
  'fs write': files.fsWrite,
  'fs append': files.fsAppend,
  'fs upload': fsUpload,
  'fs list': files.fsList,
  'fs tree': files.fsTree,
  'fs stat': files.fsStat,
  'fs resolve': files.fsResolve,
  'fs mkdir': files.fsMkdir,
  'fs move': files.fsMove,
  'fs copy': files.fsCopy,
  'fs remove': files.fsRemove,
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
  const own = { tokens: tokenBook(store), tokenTime: tokenTime(store, clock) }
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
        throw await explained(core, error)
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
    throw await explained(core, error)
  }
}
