import type { Grade } from '../../domain/sandbox/spec.ts'
import { type CgroupHierarchies, findCgroups } from './walls/cgroups/hierarchies.ts'
import type { LimitEnforcers } from './limits.ts'

/** Who keeps limits on this machine. Asked once for each driver: cgroups do not come and go. */
export interface MachineLimits {
  groups(): CgroupHierarchies
  keepers(level: 'namespace' | 'open'): LimitEnforcers
}

export function machineLimits(): MachineLimits {
  let found: CgroupHierarchies | undefined
  const groups = (): CgroupHierarchies => (found ??= findCgroups())
  return {
    groups,
    keepers(level) {
      const { places, problems } = groups()
      const grouped = (has: unknown, otherwise: Grade): Grade => (has === undefined ? otherwise : 'cgroup')
      return {
        grades: {
          memory_mb: grouped(places.memory, 'rlimit'),
          cpu_percent: grouped(places.cpu, 'none'),
          // The kernel counts the processes of a user in a user namespace: of the box's own, these are the box's.
          processes: grouped(places.pids, level === 'namespace' ? 'rlimit' : 'none'),
          open_files: 'rlimit',
          file_size_mb: 'rlimit',
          wall_ms: 'supervisor',
          output_mb: 'supervisor',
        },
        problems: {
          memory_mb: problems.memory,
          cpu_percent: problems.cpu,
          processes: problems.pids,
        },
      }
    },
  }
}
