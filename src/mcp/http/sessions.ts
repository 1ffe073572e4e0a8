import { randomUUID } from 'node:crypto'
import { WebStandardStreamableHTTPServerTransport as Transport, type McpServer } from '@modelcontextprotocol/server'

/** Clients that open a session with `initialize`, which is every version of the protocol before 2026-07-28. */
export interface Sessions extends AsyncDisposable {
  /** Undefined if there is none of that id, or it is another caller's. */
  find(id: string, owner: Owner): Session | undefined
  /** Undefined if there are too many that are in use. */
  open(owner: Owner, server: () => McpServer): Promise<Session | undefined>
  /** Ends all of a caller, with what they are doing. */
  end(callerId: string): Promise<void>
}

/** A session for one workspace is not one for all, nor one of other rights, even if the caller is the same. */
export interface Owner {
  readonly id: string
  readonly workspace?: string | undefined
  readonly rights?: string | undefined
}

export interface Session {
  readonly transport: Transport
  /** Keeps it from being idle until it is disposed of. */
  use(): Disposable
}

export interface SessionLimits {
  readonly most: number
  readonly mostOfOne: number
  readonly idleMs: number
}

interface Kept extends Session {
  readonly owner: Owner
  readonly server: McpServer
  uses: number
  usedAt: number
  timer: NodeJS.Timeout | undefined
}

export function sessionsWith({ most, mostOfOne, idleMs }: SessionLimits): Sessions {
  const kept = new Set<Kept>()

  async function close(session: Kept): Promise<void> {
    if (!kept.delete(session)) return
    clearTimeout(session.timer)
    await session.server.close()
  }

  /** A client that is gone has often not said so: the one that was idle for longest makes room. */
  async function makeRoom(among: readonly Kept[], limit: number): Promise<boolean> {
    if (among.length < limit) return true
    const [oldest] = among.filter(({ uses }) => uses === 0).toSorted((a, b) => a.usedAt - b.usedAt)
    if (oldest !== undefined) await close(oldest)
    return oldest !== undefined
  }

  const of = (callerId: string): Kept[] => [...kept].filter(({ owner }) => owner.id === callerId)

  return {
    find: (id, { id: callerId, workspace, rights }) =>
      of(callerId).find(
        ({ owner, transport }) =>
          transport.sessionId === id && owner.workspace === workspace && owner.rights === rights,
      ),
    async open(owner, make) {
      if (!(await makeRoom(of(owner.id), mostOfOne)) || !(await makeRoom([...kept], most))) return undefined
      const transport = new Transport({ sessionIdGenerator: randomUUID, onsessionclosed: () => close(session) })
      const server = make()
      const session: Kept = {
        owner: { id: owner.id, workspace: owner.workspace, rights: owner.rights },
        server,
        transport,
        uses: 0,
        usedAt: performance.now(),
        timer: undefined,
        use() {
          clearTimeout(session.timer)
          session.uses++
          return {
            [Symbol.dispose]() {
              session.usedAt = performance.now()
              if (--session.uses > 0 || !kept.has(session)) return
              session.timer = setTimeout(() => void close(session), idleMs).unref()
            },
          }
        },
      }
      kept.add(session)
      await server.connect(transport)
      return session
    },
    async end(callerId) {
      await Promise.all(of(callerId).map(close))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...kept].map(close))
    },
  }
}
