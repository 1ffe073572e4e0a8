import { AwError } from '../../domain/errors.ts'
import { parseBrokers } from '../../domain/network/broker.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'

/** Only a box whose one way out is the proxy is given a credential there: it takes the place of a way of its own. */
export function assertBrokers(level: Isolation, spec: Pick<SandboxSpec, 'brokers' | 'bridge' | 'network'>): void {
  const { brokers = [], network } = spec
  assertBridge(level, spec)
  if (brokers.length === 0) return
  parseBrokers(brokers)
  if (level === 'namespace' && network.mode === 'allowlist') return
  const why = level === 'namespace' ? `the network ${network.mode}` : `the level ${level}`
  throw new AwError('sandbox_unenforceable', `Credentials cannot be kept out of a sandbox with ${why}`, {
    hint: 'Use the isolation namespace and the network allowlist; its list may be empty',
    data: { brokers: brokers.map(({ name }) => name) },
  })
}

/** A box in the host's network would share its bridge with everybody there. */
function assertBridge(level: Isolation, { bridge, network }: Pick<SandboxSpec, 'bridge' | 'network'>): void {
  if (bridge === undefined || (level === 'namespace' && network.mode !== 'host')) return
  const why = level === 'namespace' ? 'the network host' : `the level ${level}`
  throw new AwError('sandbox_unenforceable', `There is no MCP bridge for a sandbox with ${why}`, {
    hint: 'Use the isolation namespace and the network none or allowlist, or leave the bridge out: --no-mcp',
    data: { field: 'mcp' },
  })
}
