/** How strongly a command is kept in its workspace, the weakest first. */
export const isolations = ['none', 'guarded', 'namespace'] as const
export type Isolation = (typeof isolations)[number]

/** What a sandbox may reach: nothing, only these hosts (an empty list is nothing), or all that the machine can. */
export type Network =
  | { readonly mode: 'none' }
  | { readonly mode: 'allowlist'; readonly allow: readonly string[] }
  | { readonly mode: 'host' }

export const limitNames = [
  'memory_mb',
  'cpu_percent',
  'processes',
  'open_files',
  'file_size_mb',
  'wall_ms',
  'output_mb',
] as const
export type LimitName = (typeof limitNames)[number]

/** `cpu_percent` is of one core: 150 is one and a half. `wall_ms` and `output_mb` are of each command. */
export type Limits = Readonly<Partial<Record<LimitName, number>>>

/**
 * By whom a limit is kept: the kernel for all of the sandbox together, the kernel for each process (or for the sandbox's
 * own user), the supervisor that holds the sandbox, or nobody.
 */
export const grades = ['cgroup', 'rlimit', 'supervisor', 'none'] as const
export type Grade = (typeof grades)[number]
export type Grades = Readonly<Partial<Record<LimitName, Grade>>>

/** How a sandbox holds what was asked for. */
export interface Walls {
  readonly grades: Grades
  /** What nobody keeps here, or keeps otherwise, in words. */
  readonly notes: readonly string[]
}

/** How a command ended. Any end is a result and not an error. */
export interface Exit {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  readonly duration_ms: number
  /** Of its largest process. */
  readonly peak_memory_bytes: number
  readonly cpu_ms: number
  /** It was ended because its time was over. */
  readonly timed_out: boolean
  /** What it wrote beyond its limit was thrown away. */
  readonly output_cut: boolean
  /** It was ended because its workspace had grown beyond its size limit. */
  readonly over_limit?: true
}
