import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { control, readControl } from './control.ts'

export const controllers = ['memory', 'cpu', 'pids'] as const
export type Controller = (typeof controllers)[number]

/** A directory below which groups can be made that a controller holds to their limits. */
export interface CgroupHierarchy {
  readonly version: 1 | 2
  readonly path: string
}

/** Where each controller can be used by us; for those that cannot, why. */
export interface CgroupHierarchies {
  readonly places: Readonly<Partial<Record<Controller, CgroupHierarchy>>>
  readonly problems: Readonly<Partial<Record<Controller, string>>>
}

export interface CgroupSystem {
  /** As /proc/self/mounts and /proc/self/cgroup; other files in tests. */
  readonly mounts: string
  readonly own: string
  readonly isRoot: boolean
}

const thisSystem = (): CgroupSystem => ({
  mounts: '/proc/self/mounts',
  own: '/proc/self/cgroup',
  isRoot: process.getuid?.() === 0,
})

/**
 * Finds out by making `aw` where the groups go. Version 2 is preferred for what it has; a controller that still belongs to
 * version 1 is used there. An ordinary user has version 2 alone, and only where a part of it was handed over.
 */
export function findCgroups(system: CgroupSystem = thisSystem()): CgroupHierarchies {
  const mounted = readMounts(system.mounts)
  const problems: Partial<Record<Controller, string>> = {}
  const places: Partial<Record<Controller, CgroupHierarchy>> = {}
  const unified = mounted.find(({ type }) => type === 'cgroup2')
  if (unified !== undefined) useUnified(unified.path, system, places, problems)
  for (const controller of controllers) {
    if (places[controller] !== undefined) continue
    const mount = mounted.find(({ type, options }) => type === 'cgroup' && options.includes(controller))
    try {
      if (mount !== undefined) places[controller] = { version: 1, path: makeBelow(mount.path) }
      else problems[controller] ??= `no cgroup has the controller ${controller}`
    } catch (error) {
      problems[controller] = problem('cgroup v1', error)
    }
  }
  return { places, problems }
}

function useUnified(
  mount: string,
  system: CgroupSystem,
  places: Partial<Record<Controller, CgroupHierarchy>>,
  problems: Partial<Record<Controller, string>>,
): void {
  const wanted = controllers.filter((name) => words(readControl(join(mount, 'cgroup.controllers'))).includes(name))
  if (wanted.length === 0) return
  for (const base of system.isRoot ? [mount] : handedOver(mount, system.own)) {
    try {
      const place: CgroupHierarchy = { version: 2, path: makeUnified(base, wanted) }
      for (const name of wanted) places[name] = place
      return
    } catch (error) {
      for (const name of wanted) problems[name] = problem('cgroup v2', error)
    }
  }
}

const problem = (what: string, error: unknown): string =>
  `${what} cannot be used: ${error instanceof Error ? error.message : String(error)}`

/** A group with processes of its own cannot have limited ones below it, so the one above ours is tried too. */
function handedOver(mount: string, own: string): string[] {
  const line = readFileSync(own, 'latin1')
    .split('\n')
    .find((text) => text.startsWith('0::'))
  const path = join(mount, line?.slice(3) ?? '/')
  return path === mount ? [path] : [path, dirname(path)]
}

function makeUnified(base: string, wanted: readonly Controller[]): string {
  const enable = wanted.map((name) => `+${name}`).join(' ')
  const missing = (directory: string): boolean => {
    const enabled = words(readControl(join(directory, 'cgroup.subtree_control')))
    return !wanted.every((name) => enabled.includes(name))
  }
  if (missing(base)) control.write(join(base, 'cgroup.subtree_control'), enable)
  const path = makeBelow(base)
  if (missing(path)) control.write(join(path, 'cgroup.subtree_control'), enable)
  return path
}

/** Throws where nothing can be made. */
function makeBelow(base: string): string {
  const path = join(base, 'aw')
  try {
    hostFs.mkdirSync(path, 0o755)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
  // Of somebody else's nothing can be used.
  const uid = process.getuid?.() ?? 0
  if (control.owner(path) !== uid) throw new AwError('permission_denied', `${path} belongs to another user`)
  return path
}

interface Mount {
  readonly path: string
  readonly type: string
  readonly options: readonly string[]
}

function readMounts(file: string): Mount[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'latin1')
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, path = '', type = '', options = '']) => ({ path, type, options: options.split(',') }))
}

const words = (text: string | undefined): string[] => (text ?? '').trim().split(/\s+/)
