/** The file dist/daemon.js: what `aw serve` loads, and nobody else. */
export { startDaemon, type Daemon, type DaemonOptions } from './serve.ts'
export { daemonLog } from './log.ts'
export { reportLines } from './checks.ts'
export { detach, findDaemon, stopDaemon } from './control.ts'
export type { CommandLine, TypedCommand, TypedOutput } from './command-route.ts'
