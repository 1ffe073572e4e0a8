import { AwError } from '../../domain/errors.ts'
import { parseBrokers } from '../../domain/network/broker.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'

/** Only a box whose one way out is the proxy is given a credential there: it takes the place of a way of its own. */
export function assertBrokers(level: Isolation, { brokers = [], network }: SandboxSpec): void {
  if (brokers.length === 0) return
  parseBrokers(brokers)
  if (level === 'namespace' && network.mode === 'allowlist') return
  const why = level === 'namespace' ? `the network ${network.mode}` : `the level ${level}`
  throw new AwError('sandbox_unenforceable', `Credentials cannot be kept out of a sandbox with ${why}`, {
    hint: 'Use the isolation namespace and the network allowlist; its list may be empty',
    data: { brokers: brokers.map(({ name }) => name) },
  })
}
