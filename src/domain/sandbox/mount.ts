import { createHash } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Isolation } from './spec.ts'

/** What the settings say of where sandboxes have their workspaces. */
export interface MountSetting {
  readonly setting: string
  /** Somebody has said so; else it is what it is by default. */
  readonly isSet: boolean
}

export const mountSetting = ({ settings, origins }: Config): MountSetting => ({
  setting: settings['sandbox.mount'],
  isSet: origins['sandbox.mount'] !== 'default',
})

/** As much of a workspace as tells where it is inside. */
export interface MountedWorkspace {
  readonly id: string
  readonly profile: string
  readonly sandbox?: { readonly mount: string; readonly isolation: string } | null | undefined
}

/** The path that means a workspace to those inside: where its sandbox has it, and without one where the next will. */
export const mountOf = (wish: MountSetting, workspace: MountedWorkspace): string =>
  workspace.sandbox?.mount ?? nextMount(wish, workspace)

/**
 * Where the next sandbox has it. A name of its own comes from the id, so that it is known before the first sandbox and
 * is the same in each of them: some programs write the path they were installed at into what they make. A session has
 * one, unless the settings name a place.
 */
export function nextMount({ setting, isSet }: MountSetting, { id, profile }: MountedWorkspace): string {
  const isOwn = isRandomMount(setting) || (profile === 'session' && !isSet)
  return isOwn ? `/mnt/aw-${createHash('sha256').update(`mount of ${id}`).digest('hex').slice(0, 8)}` : setting
}

/** For what belongs to no workspace, and is made for any. */
export const genericMount = ({ setting }: MountSetting): string => (isRandomMount(setting) ? defaultMount : setting)

export const isRandomMount = (setting: string): boolean => setting === 'random'
const defaultMount = '/workspace'

/** Whether those inside find it there; else they see the machine's own path. @param usual without a sandbox */
export const hasMount = ({ sandbox }: MountedWorkspace, usual: Isolation): boolean =>
  (sandbox?.isolation ?? usual) === 'namespace'
