import type { SandboxSpec } from '../../ports/sandbox-driver.ts'

/** PATH inside: what the spec puts first, and the level's own. */
export const pathWith = ({ programs = [] }: SandboxSpec, own: string): string => [...programs, own].join(':')
