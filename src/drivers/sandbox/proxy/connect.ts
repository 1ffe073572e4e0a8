import type { Socket } from 'node:net'
import { parseAddress, type Address } from '../../../domain/network/address.ts'
import { classifyAddress } from '../../../domain/network/address-class.ts'
import { fixedAddresses, isReachable, judge, type Rule, type Target } from '../../../domain/network/rules.ts'
import type { Reason } from './reasons.ts'
import type { HostNetwork } from './host-network.ts'

export type ConnectResult =
  | { readonly kind: 'connected'; readonly socket: Socket; readonly address: string }
  | { readonly kind: 'refused' | 'failed'; readonly reason: Reason }

/**
 * Judges a target, looks its name up once, and connects to exactly what was found then and looked at: a name that leads
 * elsewhere a moment later makes no difference. Never rejects.
 */
export async function connectAllowed(
  target: Target,
  rules: readonly Rule[],
  network: HostNetwork,
  timeoutMs: number,
): Promise<ConnectResult> {
  const judged = judge(rules, target)
  if (!judged.allowed) return { kind: 'refused', reason: judged.reason }
  if (judged.addresses !== undefined) return connectToOne(judged.addresses, target.port, network, timeoutMs)
  const addresses = await addressesOf(target, network, timeoutMs)
  if (addresses.length === 0) return { kind: 'failed', reason: 'name_not_found' }
  const outside = addresses.filter((address) => classifyAddress(address) === 'public')
  if (outside.length === 0) return { kind: 'refused', reason: 'address_not_public' }
  // A service that trusts this machine would take us for it.
  const own = new Set(network.ownAddresses())
  const others = outside.filter(({ text }) => !own.has(text))
  if (others.length === 0) return { kind: 'refused', reason: 'own_address' }
  return connectToOne(others, target.port, network, timeoutMs)
}

/**
 * The same for the upstream of a broker, which the owner has named for the proxy alone: it may be on this machine or in
 * its networks.
 */
export async function connectBroker(target: Target, network: HostNetwork, timeoutMs: number): Promise<ConnectResult> {
  const found = fixedAddresses(target.host) ?? (await addressesOf(target, network, timeoutMs))
  if (found.length === 0) return { kind: 'failed', reason: 'name_not_found' }
  const addresses = found.filter(isReachable)
  if (addresses.length === 0) return { kind: 'refused', reason: 'address_not_public' }
  return connectToOne(addresses, target.port, network, timeoutMs)
}

/** The daemon of aw, by its socket. */
export async function connectDaemon(path: string, network: HostNetwork, timeoutMs: number): Promise<ConnectResult> {
  try {
    const socket = await network.connectLocal(path, timeoutMs)
    return socket === undefined
      ? { kind: 'failed', reason: 'connect_timeout' }
      : { kind: 'connected', socket, address: 'local' }
  } catch {
    return { kind: 'failed', reason: 'no_daemon' }
  }
}

async function addressesOf({ host }: Target, network: HostNetwork, timeoutMs: number): Promise<Address[]> {
  const found = await inTime(network.lookup(host.text), timeoutMs).catch(() => [])
  return found.map(parseAddress).filter((address) => address !== undefined)
}

/** One after the other, in the order in which the machine prefers them, within the time for all. */
async function connectToOne(
  addresses: readonly Address[],
  port: number,
  network: HostNetwork,
  timeoutMs: number,
): Promise<ConnectResult> {
  const tried = addresses.slice(0, maxTried)
  let reason: Reason = 'unreachable'
  for (const { text: address } of tried) {
    try {
      const socket = await network.connect(address, port, Math.ceil(timeoutMs / tried.length))
      if (socket !== undefined) return { kind: 'connected', socket, address }
      reason = 'connect_timeout'
    } catch {
      reason = 'unreachable'
    }
  }
  return { kind: 'failed', reason }
}

const maxTried = 4

/** The lookup itself cannot be called off; nobody waits for it any more. */
function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The name was not found in time')), timeoutMs)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}
