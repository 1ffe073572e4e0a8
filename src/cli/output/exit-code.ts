import { exitCodeOfRun } from '../runs/exit-code.ts'
import { errorTable, type ErrorCode } from '../../domain/errors.ts'

/** The exit code of an operation that worked: some answers are themselves a verdict. */
export function exitCodeForOutput(name: string, output: unknown): number {
  const verdict = exitCodeRules[name]
  return verdict === undefined ? 0 : verdict(output as never)
}

const exitCodeRules: Readonly<Record<string, (output: never) => number>> = {
  exists: (output: { exists: boolean }) => (output.exists ? 0 : 3),
  doctor: (output: { ok: boolean }) => (output.ok ? 0 : 1),
  'agents test': (output: { ok: boolean }) => (output.ok ? 0 : 1),
  'audit verify': (output: { intact: boolean }) => (output.intact ? 0 : 1),
  verify: (output: { intact: boolean | null }) => (output.intact === false ? 1 : 0),
  wait: exitCodeOfRun,
  fork: (output: { forks: readonly { error: { code: string } | null }[] }) => {
    const first = output.forks.find(({ error }) => error !== null)
    return first?.error ? errorTable[first.error.code as ErrorCode].exit : 0
  },
  gc: (output: { items: readonly { error: string | null }[] }) => (output.items.some((item) => item.error) ? 1 : 0),
  recover: (output: { failed: readonly unknown[] }) => (output.failed.length > 0 ? 1 : 0),
  shutdown: (output: { timed_out: boolean; results: readonly { ok: boolean }[] }) => {
    if (output.timed_out) return 124
    return output.results.every((item) => item.ok) ? 0 : 1
  },
}

/** People want to see sizes and where a fork began; programs ask for it, because it takes time. */
export function textOutputDefaults(name: string, { quiet, terminal }: { quiet: boolean; terminal: boolean }) {
  if ((name === 'list' && !quiet) || name === 'show') return { sizes: true }
  return name === 'snapshots' && terminal && !quiet ? { base: true } : {}
}
