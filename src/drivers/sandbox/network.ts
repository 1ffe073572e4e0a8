import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { proxyPort } from '../../domain/network/proxy-port.ts'
import { parseRules } from '../../domain/network/rules.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'
import type { Tag } from './box/frames.ts'
import type { Making } from './box/start/opened-tree.ts'
import { settingsPath, writeUnlinkedSettings } from './box/start/proxy-settings.ts'
import { hasAllIds, hasId } from '../../sys/processes/ids.ts'
import { extraAuthorities } from './proxy/authorities.ts'
import { assertSettings, type ProxySettings, settingsText } from './proxy/settings.ts'
import type { BoxOptions } from './box-driver.ts'
import { assertBrokers } from './brokers.ts'

/** The program that a box with an allow-list reaches the network through; undefined if it has none. */
export type ProxyRoute =
  | {
      readonly program: readonly string[]
      readonly settings: Omit<ProxySettings, 'bridge'>
      /** Where the daemon listens, if the box has a bridge to it. */
      readonly bridge: SandboxSpec['bridge']
      readonly log: string | undefined
      /** Hosts that are not asked for through it. */
      readonly direct: readonly string[]
      /** Nothing is reached through it but the bridge: programs are not told of it. */
      readonly isHidden: boolean
    }
  | undefined

export function planNetwork(spec: Omit<SandboxSpec, 'attachment'>, proxy: BoxOptions['proxy']): ProxyRoute {
  const { network, networkLog: log, label = '', brokers = [], bridge } = spec
  assertBrokers('namespace', spec)
  const allow = network.mode === 'allowlist' ? network.allow : []
  // An empty list is nothing, and nothing is not a way out; what a broker lets through is.
  if (allow.length + brokers.length === 0 && bridge === undefined) return undefined
  if (proxy === undefined)
    throw new AwError('sandbox_unenforceable', 'There is no proxy that could keep a sandbox to an allow-list', {
      hint: 'Use the network none or host, without the MCP bridge',
    })
  const authorities = brokers.length === 0 ? [] : extraAuthorities()
  const settings = { workspace: label, allow, user: userOf(spec), brokers, authorities }
  assertSettings(settings, bridge !== undefined)
  return {
    program: proxy,
    settings,
    bridge,
    log,
    direct: direct(allow),
    isHidden: allow.length + brokers.length === 0,
  }
}

/** It reads what a box sends, so root has another user do it, who owns nothing and whom nobody else is. */
function userOf({ proxyUid, uid }: Pick<SandboxSpec, 'proxyUid' | 'uid'>): number | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (proxyUid !== undefined && proxyUid > 0 && proxyUid !== uid && hasId(proxyUid)) return proxyUid
  throw new AwError('sandbox_unenforceable', 'There is no user of its own for the proxy of an allow-list', {
    hint: hasAllIds()
      ? 'Set sandbox.first_uid higher: the proxies have the user ids below it'
      : 'Set sandbox.first_uid to ids that the user namespace of aw has (/proc/self/uid_map), or use the network none or host',
  })
}

/** The box's own loopback is reached without the proxy, but for what a rule names: that is the host's. */
function direct(allow: readonly string[]): string[] {
  const named = new Set(parseRules(allow).map(({ host }) => host))
  return ['localhost', '127.0.0.1', '::1'].filter((host) => !named.has(host))
}

/** What programs inside look at to find the way out. */
export function networkEnv(way: ProxyRoute): Record<string, string> {
  if (way === undefined || way.isHidden) return {}
  const proxy = `http://127.0.0.1:${proxyPort}`
  const local = way.direct.join(',')
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    no_proxy: local,
    NO_PROXY: local,
    // Node looks at them only if it is told to.
    NODE_USE_ENV_PROXY: '1',
  }
}

export function networkTags(way: ProxyRoute, { directory, held, bridgeToken: token }: Making): Tag[] {
  if (way === undefined) return []
  if (way.bridge !== undefined && token === undefined)
    throw new AwError('invalid_input', 'A sandbox with an MCP bridge is not started without a token', {
      data: { field: 'bridgeToken' },
    })
  const bridge = way.bridge === undefined || token === undefined ? undefined : { ...way.bridge, token }
  const settings = settingsText({ ...way.settings, bridge })
  const log = way.log ?? join(directory, 'network.log')
  const program = [...way.program, settingsPath].map((argument): Tag => ['X', argument])
  return [...program, ['s', writeUnlinkedSettings(directory, settings, held)], ['x', log], ['P', proxyPort]]
}
