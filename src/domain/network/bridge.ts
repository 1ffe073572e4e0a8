import { brokerUrl, type BrokerRoute } from './broker.ts'

/**
 * The way from a sandbox to the MCP tools of its own workspace: its proxy passes requests on to the daemon and adds the
 * token, which never enters the sandbox. It is a way of its own beside the network, and leads nowhere else.
 */
export interface Bridge {
  /** The directory in the home where the daemon listens, at `bridgeSocket`. It stays; the socket is that of each daemon. */
  readonly directory: string
  /** Of this sandbox alone. Secret. */
  readonly token: string
}

export const bridgeSocket = 'mcp.sock'

/** What requests name as their host: it is in the log of requests too. */
export const bridgeHost = 'aw-mcp'

/** The one path of the daemon that is served there. */
export const bridgePath = '/mcp'

const name = 'mcp'

/** What programs inside are told as AW_MCP_URL. */
export const bridgeUrl = brokerUrl(name)

/** @param socket where this process finds the daemon */
export const bridgeRoute = (token: string, socket: string): BrokerRoute => ({
  name,
  secure: false,
  target: { host: { text: bridgeHost }, port: 80 },
  base: bridgePath,
  headers: [['Authorization', `Bearer ${token}`]],
  socket,
})

/** Whether a broker has the name that is the bridge's. */
export const isBridgeName = (broker: { readonly name: string }): boolean => broker.name === name
