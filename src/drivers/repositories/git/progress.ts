import type { CloneProgress } from '../../../ports/repositories.ts'

type Phase = CloneProgress['phase']

const phases: readonly (readonly [pattern: RegExp, phase: Phase])[] = [
  [/^(?:remote: )?(?:Enumerating|Counting|Compressing) objects:/, 'counting'],
  [/^(?:Receiving|Unpacking|Writing) objects:/, 'receiving'],
  [/^Resolving deltas:/, 'resolving'],
  [/^Updating files:/, 'checking out'],
]

const units: Readonly<Record<string, number>> = { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }

/** One line of git's progress; undefined if it is none. */
export function parseProgress(line: string): CloneProgress | undefined {
  const phase = phases.find(([pattern]) => pattern.test(line))?.[1]
  if (phase === undefined) return undefined
  const percent = /:\s+(\d{1,3})%/.exec(line)?.[1]
  const [, amount, unit] = /, ([\d.]+) (bytes|[KMGT]iB)/.exec(line) ?? []
  return {
    phase,
    percent: percent === undefined ? null : Math.min(100, Number(percent)),
    bytes: amount === undefined ? null : Math.round(Number(amount) * (units[unit ?? 'bytes'] ?? 1)),
  }
}

/** Takes git's stderr as it comes, in pieces, and tells each step once. */
export function progressReader(tell: (done: CloneProgress) => void): (text: string) => void {
  let rest = ''
  let last = ''
  return (text) => {
    const lines = (rest + text).split(/[\r\n]/)
    rest = (lines.pop() ?? '').slice(-1000)
    for (const line of lines) {
      const done = parseProgress(line)
      const key = done === undefined ? last : `${done.phase} ${done.percent} ${done.bytes}`
      if (done !== undefined && key !== last) tell(done)
      last = key
    }
  }
}
