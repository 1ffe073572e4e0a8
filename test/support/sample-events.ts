import { randomBytes } from 'node:crypto'
import type { EventData, EventType, NewEvent } from '../../src/domain/log/event.ts'
import { makeId, type EventId, type OperationId, type RunId, type WorkspaceId } from '../../src/domain/ids.ts'
import { owner, sampleSetup, sampleSnapshot, sandboxSamples, whose } from './sample-sandbox-events.ts'

/** One payload of each type, as it is written today. The type checker holds them to the types. */

const config = {
  max_size_mb: 1024,
  allowed_operations: ['read', 'write'],
  git_config: { enabled: true, user_name: 'Agent', user_email: 'agent@example.com' },
}

const path = '/home/user/.aw/workspaces/fix-login/main'
const tree = 'ws_01hzx5k8w40000000000000001.1'
const archive = '/home/user/.aw/archives/fix-login.main.20261122T090000123Z.aw.tar.zst'

const plan = {
  snapshot: sampleSnapshot,
  parent: 'snap_01hzx5k8w40000000000000005' as const,
  branch: 'main',
  label: 'tests pass',
  meta: { turn: 7 },
  key: 'turn-7',
  reason: 'user' as const,
}

const frozen = { mechanism: 'btrfs snapshot', consistency: 'atomic' as const, files_changed: 3 }
const removed = { snapshot: plan.snapshot, parent: plan.parent, reason: plan.reason }

const gitBase = 'git-4f1c0e9d0c6f5b7d7a11f1f6f7a04f1c'
const gitSource = {
  kind: 'git' as const,
  url: 'https://example.com/web.git',
  ref: 'main',
  shallow: true,
  commit: '0e9d0c6f5b7d7a11f1f6f7a04f1c4f0e9d0c6f5b',
  full_ref: 'refs/heads/main',
  branch: 'main',
  submodules: ['vendor/theme'],
  lfs: 2,
}

const imported = {
  files: 12,
  bytes: 34567,
  reflinked: 0,
  skipped: 1,
  skipped_paths: [{ path: 'run/agent.sock', reason: 'socket' }],
}

export const sampleData: { readonly [T in EventType]: EventData[T] } = {
  workspace_create_started: {
    ...whose,
    operation: 'create',
    owner,
    workspace_path: path,
    profile: 'aw',
    source: { kind: 'folder', path: '/home/user/project' },
    config,
    labels: { team: 'web' },
    driver: 'dir',
  },
  workspace_created: {
    ...whose,
    workspace_path: path,
    config,
    created_at: '2026-11-15T09:00:00.000Z',
    imported,
  },
  workspace_source_failed: {
    ...whose,
    workspace_path: path,
    created_at: '2026-11-15T09:00:00.000Z',
    problem: { code: 'source_failed', message: 'git could not reach https://example.com/web.git' },
  },
  workspace_destroy_started: {
    ...whose,
    operation: 'destroy',
    owner,
    workspace_path: path,
    cleanup_reason: 'user',
    tree,
  },
  workspace_cleanup: { ...whose, workspace_path: path, cleanup_reason: 'user', tree },
  workspace_undelete_started: { ...whose, operation: 'undelete', owner, workspace_path: path, tree },
  workspace_undeleted: { ...whose, workspace_path: path, tree },
  workspace_purge_started: { ...whose, operation: 'purge', owner, trees: [tree], snapshots: [] },
  workspace_purged: { ...whose, trees: [tree], snapshots: [] },
  workspace_reset_started: { ...whose, operation: 'reset', owner, workspace_path: path, generation: 2, tree },
  workspace_reset: { ...whose, workspace_path: path, generation: 2, tree },
  workspace_rename_started: {
    ...whose,
    operation: 'rename',
    owner,
    workspace_path: path,
    to_task_id: 'fix-logout',
    to_agent_id: 'main',
    to_path: '/home/user/.aw/workspaces/fix-logout/main',
  },
  workspace_renamed: {
    task_id: 'fix-logout',
    agent_id: 'main',
    workspace_path: '/home/user/.aw/workspaces/fix-logout/main',
    from: 'fix-login/main',
  },
  snapshot_started: { ...whose, operation: 'snapshot', owner, ...plan },
  snapshot_created: { ...whose, ...plan, ...frozen, passing: ['work/.mcp.json'] },
  snapshot_labelled: { ...whose, snapshot: plan.snapshot, label: 'before the rewrite' },
  snapshot_remove_started: { ...whose, operation: 'remove_snapshots', owner, snapshots: [removed], why: 'user' },
  snapshot_removed: { ...whose, snapshots: [removed], why: 'user' },
  workspace_restore_started: {
    ...whose,
    operation: 'restore',
    owner,
    workspace_path: path,
    snapshot: plan.snapshot,
    keep: 'snap_01hzx5k8w40000000000000006',
    resume: 'snap_01hzx5k8w40000000000000007',
    how: 'restore',
    branch: 'main',
    paths: null,
    since: plan.snapshot,
    generation: 2,
  },
  workspace_restored: {
    ...whose,
    workspace_path: path,
    snapshot: plan.snapshot,
    how: 'restore',
    branch: 'main',
    paths: null,
    kept: [
      {
        ...plan,
        ...frozen,
        snapshot: 'snap_01hzx5k8w40000000000000006',
        parent: plan.snapshot,
        label: null,
        key: null,
        reason: 'safety',
      },
    ],
    replaced: 'snap_01hzx5k8w40000000000000006',
    generation: 2,
  },
  workspace_branched: { ...whose, branch: 'risky-idea', snapshot: plan.snapshot, removed: false },
  workspace_labelled: { ...whose, labels: { team: 'web', stage: 'review' } },
  workspace_ttl_set: { ...whose, expires_at: '2026-11-16T09:00:00.000Z' },
  workspace_limit_set: { ...whose, max_size_mb: 2000 },
  workspace_archive_started: { ...whose, operation: 'archive', owner, tree, path: archive },
  workspace_archived: { ...whose, tree, path: archive, digest: '9f0c'.repeat(16), bytes: 12345 },
  workspace_archive_removed: { ...whose, path: archive },
  ...sandboxSamples,
  env_changed: { ...whose, set: [{ name: 'API_KEY', secret: true }], unset: ['DEBUG'] },
  operation_taken: { ...whose, operation: 'create', owner: { ...owner, pid: 4343 }, epoch: 2, from: owner },
  operation_abandoned: { ...whose, operation: 'create', code: 'disk_full', message: 'No space left on the device' },
  workspace_lost: { ...whose, workspace_path: path, reason: 'Its tree was removed from outside' },
  trash_lost: { ...whose, trees: [tree] },
  workspace_found: { ...whose, tree },
  lease_acquired: {
    ...whose,
    lease_id: 'ls_01hzx5k8w40000000000000002',
    holder: 'agent-7',
    expires_at: '2026-11-15T10:00:00.000Z',
  },
  lease_adopted: {
    ...whose,
    lease_id: 'ls_01hzx5k8w40000000000000003',
    holder: 'ann',
    expires_at: '2026-11-15T10:05:00.000Z',
    from: {
      lease_id: 'ls_01hzx5k8w40000000000000002',
      holder: 'agent-7',
      active_at: '2026-11-15T09:01:00.000Z',
    },
  },
  lease_released: { ...whose, lease_id: 'ls_01hzx5k8w40000000000000002', holder: 'agent-7', reason: 'released' },
  home_created: { format: 1, owner_uid: 1000 },
  home_migrated: { from: 1, to: 2, backup: 'log.db.format-1' },
  leftovers_removed: { trees: ['op_01hzx5k8w40000000000000003'] },
  base_started: { base: gitBase },
  base_created: { base: gitBase, group: gitBase, profile: 'aw', source: gitSource, imported },
  base_removed: { base: gitBase, why: 'unneeded' },
  template_saved: {
    name: 'web-app',
    version: 2,
    base: 'template-web-app-2',
    profile: 'aw',
    description: 'What a new page begins as',
    source: gitSource,
    variables: { title: null, license: 'MIT' },
    files: ['work/README.md'],
    setup: sampleSetup,
  },
  template_removed: { name: 'web-app', version: 1 },
  shared_started: { name: 'models', tree: 'shared_models_01hzx5k8w4' },
  shared_created: { name: 'models', task: null, tree: 'shared_models_01hzx5k8w4' },
  shared_removed: { name: 'models', trash: 'shared_models_01hzx5k8w4.1' },
  shared_purged: { trash: 'shared_models_01hzx5k8w4.1' },
  shared_undeleted: {
    trash: 'shared_models_01hzx5k8w4.1',
    name: 'models-again',
    task: null,
    tree: 'shared_models_01hzx5k8w4.1',
  },
  token_created: {
    token: 'tok_01hzx5k8w40000000000000008',
    hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    label: 'reviewer',
    scopes: ['read', 'fs:read'],
    workspaces: ['ws_01hzx5k8w40000000000000001', 'docs-*/*'],
    expires_at: '2026-11-16T09:00:00.000Z',
    replaces: 'tok_01hzx5k8w40000000000000007',
  },
  token_revoked: {
    token: 'tok_01hzx5k8w40000000000000008',
    reason: 'rotated',
    workspace: null,
    from: '2026-11-15T09:10:00.000Z',
  },
}

type Id = { ws: WorkspaceId; ev: EventId; op: OperationId; run: RunId }

export const newId = <P extends keyof Id>(prefix: P): Id[P] => makeId(prefix, Date.now(), randomBytes(10)) as Id[P]

export interface SampleOptions<T extends EventType> {
  readonly data?: Partial<EventData[T]>
  readonly operation?: { id: string; epoch: number } | null
  readonly at?: string
}

/** A fresh event of a type: the sample with what matters to the test put in. */
export function sampleEvent<T extends EventType>(type: T, options: SampleOptions<T> = {}): NewEvent {
  const { data = {}, operation = null, at = new Date().toISOString() } = options
  const meta = { actor: 'user:1000', correlation_id: 'cor_sample', causation_id: null, operation }
  return { id: newId('ev'), at, type, data: { ...sampleData[type], ...data }, meta }
}

/** Creation as it happens: the intent, then the outcome. */
export function creation(task: string, agent = 'main', rest: Partial<EventData['workspace_create_started']> = {}) {
  const operation = { id: newId('op'), epoch: 1 }
  const whoseIt = { task_id: task, agent_id: agent }
  const at = new Date().toISOString()
  const intent = sampleEvent('workspace_create_started', { data: { ...rest, ...whoseIt }, operation, at })
  const outcome = sampleEvent('workspace_created', { data: { ...whoseIt, created_at: at }, operation, at })
  return { operation, intent, outcome }
}
