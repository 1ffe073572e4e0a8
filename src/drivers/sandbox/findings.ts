import { fixes } from '../../domain/sandbox/fixes.ts'
import { type Grades, type Isolation, isolations, type LimitName } from '../../domain/sandbox/spec.ts'
import type { Finding } from '../../sys/home/inspect.ts'
import { landlockGaps, landlockVersion } from './walls/landlock.ts'
import type { BoxOptions } from './box-driver.ts'
import { knownGaps as notGuarded } from './guarded.ts'
import { sandboxDrivers } from './registry.ts'
import { testWalls, type WallCheck, type WallTrial } from './wall-trial.ts'

interface Wanted extends BoxOptions {
  /** Which level commands get if nobody asks for another. */
  readonly isolation: Isolation
}

export type WallTrials = Readonly<Record<Isolation, WallTrial>>

/** What `aw doctor` says about sandboxes: each level is started, and its walls are tried from inside. */
export async function sandboxFindings({ isolation, ...options }: Wanted): Promise<Finding[]> {
  const drivers = sandboxDrivers(options)
  const tried = isolations.map(async (level) => [level, await testWalls(await drivers(level), options.run)] as const)
  return findingsOf(Object.fromEntries(await Promise.all(tried)) as WallTrials, isolation)
}

export const findingsOf = (trials: WallTrials, wanted: Isolation): Finding[] => [
  ...isolations.map((level) => levelFinding(level, trials[level], level === wanted)),
  ...walls(trials, wanted),
  limits(trials),
]

function levelFinding(level: Isolation, trial: WallTrial, isDefault: boolean): Finding {
  const name = `sandbox ${level}`
  if (trial.usable) {
    const works = isDefault ? 'works, the default of this home' : 'works, if asked for'
    return { name, status: isDefault ? 'ok' : 'info', message: [works, ...weaknesses[level]()].join('; '), hint: null }
  }
  const hint = trial.hint ?? null
  if (!isDefault) return { name, status: 'info', message: trial.reason, hint }
  const refused = 'exec, start and run are refused unless they ask for another level'
  return { name, status: 'problem', message: `${trial.reason}; ${refused}`, hint }
}

const weaknesses: Readonly<Record<Isolation, () => readonly string[]>> = {
  none: () => ['it holds nothing: commands may do all that their user may'],
  guarded: () => [...notGuarded, ...landlockGaps(landlockVersion())],
  namespace: () => [],
}

/**
 * One for each wall: at which levels it held, what got through, and what could not be tried. It is a problem only at
 * the default level; what another one lets through concerns those who ask for it.
 */
function walls(trials: WallTrials, wanted: Isolation): Finding[] {
  const levels = isolations.filter((level) => level !== 'none' && trials[level].usable)
  const triesAt = (level: Isolation): readonly WallCheck[] => (trials[level].usable ? trials[level].tries : [])
  const names = [...new Set(levels.flatMap((level) => triesAt(level).map(({ wall }) => wall)))]
  return names.map((wall) => {
    const of = (level: Isolation): WallCheck[] => triesAt(level).filter((one) => one.wall === wall)
    const tried = levels.filter((level) => of(level).length > 0)
    const having = (verdict: WallCheck['verdict']): Isolation[] =>
      tried.filter((level) => of(level).some((one) => one.verdict === verdict))
    const [open, untried] = [having('open'), having('untried')]
    const about = tried.flatMap((level) => of(level).map(({ what }) => what))
    const name = `wall ${wall}`
    if (open.length === 0 && untried.length > 0)
      return {
        name,
        status: untried.includes(wanted) ? 'problem' : 'warning',
        message: `could not be tried at ${untried.join(' and ')}: ${[...new Set(about)].join(', ')}`,
        hint: 'Nobody knows whether it holds. If the disk of the home is full, make room there (aw gc); then look again: aw doctor',
      }
    if (open.length === 0)
      return {
        name,
        status: 'ok',
        message: `held at ${tried.join(' and ')}: ${[...new Set(about)].join(', ')}`,
        hint: null,
      }
    const through = open.flatMap((level) =>
      of(level).flatMap(({ verdict, what }) => (verdict === 'open' ? [`${level}: ${what}`] : [])),
    )
    return {
      name,
      status: open.some((level) => level === wanted && !isKnownGap(wall, level)) ? 'problem' : 'warning',
      message: `NOT held, against ${through.join('; against ')}`,
      hint: proxyFinding(wall, open),
    }
  })
}

/** Old kernels are known to let a guarded box reach other processes, and its level says so; nothing else should get through. */
const isKnownGap = (wall: string, level: Isolation): boolean =>
  level === 'guarded' && wall === 'processes' && landlockVersion() < 6

const proxyFinding = (wall: string, open: readonly Isolation[]): string =>
  open.every((level) => isKnownGap(wall, level))
    ? fixes.newerLandlock
    : 'Do not run what you do not trust at this level; please report it with the output of: aw doctor --json'

const enforcerText = {
  cgroup: 'by a cgroup',
  rlimit: 'by the kernel for each process',
  supervisor: 'by the supervisor',
  none: 'by nobody',
}
const cgroupLimits: readonly LimitName[] = ['memory_mb', 'cpu_percent', 'processes']

/** Who keeps the limits of the strongest level that works. */
function limits(trials: WallTrials): Finding {
  const best = isolations.toReversed().find((level) => trials[level].usable)
  const trial = best === undefined ? undefined : trials[best]
  if (best === undefined || !trial?.usable)
    return { name: 'sandbox limits', status: 'info', message: 'no sandbox works here', hint: null }
  const { grades } = trial
  const isWhole = cgroupLimits.every((name) => grades[name] === 'cgroup')
  return {
    name: 'sandbox limits',
    status: isWhole ? 'ok' : 'info',
    message: `at ${best}: ${gradeText(grades)}`,
    hint: isWhole ? null : fixes.cgroups,
  }
}

const gradeText = (grades: Grades): string =>
  Object.entries(enforcerText)
    .map(
      ([grade, words]) => [words, Object.keys(grades).filter((name) => grades[name as LimitName] === grade)] as const,
    )
    .filter(([, names]) => names.length > 0)
    .map(([words, names]) => `${names.join(', ')} ${words}`)
    .join('; ')
