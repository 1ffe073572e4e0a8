/**
 * The proxy of one box, a program of its own: `… FILE`, with a listening socket as descriptor 3, which lives in the box's
 * network, and its log as 4. FILE holds its settings. It ends with SIGTERM, or with whoever has started it.
 */
import { openLog } from './log.ts'
import { createProxy } from './server.ts'
import { readSettings } from './settings.ts'
import { machine } from './surroundings.ts'

const [file = ''] = process.argv.slice(2)
const { workspace, rules, limits } = readSettings(file)
const log = openLog(4, limits.log_bytes, limits.requests)
const proxy = createProxy({ workspace, rules, limits, log, surroundings: machine })

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => {
    proxy.stop()
    process.exit(0)
  })
}
proxy.server.listen({ fd: 3 })
