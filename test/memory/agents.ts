import type { Agents, UserProfile } from '../../src/ports/agents.ts'

export interface MemoryAgents extends Agents {
  readonly profiles: UserProfile[]
  /** Absolute paths of programs, by name. */
  readonly programs: Map<string, string>
  readonly variables: Map<string, string>
  readonly places: Set<string>
}

/** A machine with only those programs, variables and profiles that a test gives it. */
export function memoryAgents(): MemoryAgents {
  const profiles: UserProfile[] = []
  const programs = new Map<string, string>()
  const variables = new Map<string, string>()
  const places = new Set<string>()
  return {
    profiles,
    programs,
    variables,
    places,
    written: async () => profiles,
    async find(binary, reads = []) {
      const path = binary.startsWith('/') ? binary : programs.get(binary)
      return path === undefined ? undefined : { path, reads: [path, ...reads] }
    },
    value: async (source) => ('variable' in source ? variables.get(source.variable) : undefined),
    async prepare(workspace, agent) {
      const directory = `/agents/${workspace}/${agent}`
      places.add(directory)
      return { state: `${directory}/state`, programs: `${directory}/programs` }
    },
    async remove(workspace) {
      for (const place of places) if (place.startsWith(`/agents/${workspace}/`)) places.delete(place)
    },
  }
}
