/**
 * The proxy of one box, a program of its own: `… FILE`, with a listening socket as descriptor 3, which lives in the box's
 * network, and its log as 4. FILE holds its settings. Descriptor 0 is a pipe that ends when whoever has started it does.
 * It ends then, with SIGTERM, and to be started again with another log.
 */
import { bridgeRoute } from '../../../domain/network/bridge.ts'
import { trustStore } from './authorities.ts'
import { openBridge } from '../../../sys/home/bridge-socket.ts'
import { openLog } from './log.ts'
import { createProxy } from './server.ts'
import { readSettings } from './settings.ts'
import { hostNetwork } from './host-network.ts'
import { becomeUser } from './user.ts'

const [file = ''] = process.argv.slice(2)
const { workspace, allow, rules, user, limits, brokers, bridge, authorities } = readSettings(file)
// The home is closed to whom it becomes.
const reached = bridge === undefined ? [] : [bridgeRoute(bridge.token, openBridge(bridge.directory))]
becomeUser(user)
const log = openLog(4, limits.log_bytes, limits.requests)
const proxy = createProxy({
  owner: { workspace, allow },
  rules,
  brokers: [...brokers, ...reached],
  trusted: trustStore(authorities),
  limits,
  log,
  surroundings: hostNetwork,
})

const end = (): never => {
  proxy.stop()
  process.exit(0)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, end)
process.stdin.once('close', end).resume()

// Before it is full, in a moment in which nobody notices; else whatever is under way.
setInterval(() => {
  const when = log.toBePutAside()
  if (when === 'now' || (when === 'soon' && proxy.underWay() === 0)) end()
}, limits.log_check_ms)
proxy.server.listen({ fd: 3 })
