import { storageChoices } from './storage-drivers.ts'
import type { Kind } from './kinds.ts'
import { sandboxKeys } from './sandbox-keys.ts'
import { serverKeys } from './server-keys.ts'

export interface Key {
  readonly kind: Kind
  readonly default: string | number | boolean
  readonly about: string
}

/** Every setting. `aw.toml` has them as `[section] key`, the environment as AW_SECTION_KEY, `--set` as section.key */
export const configKeys = {
  'workspaces.base_path': {
    kind: 'path',
    default: '',
    about: 'Where workspaces are found, as BASE/TASK/AGENT; empty means HOME/workspaces; relative to the home',
  },
  'workspaces.profile': {
    kind: ['aw', 'ipa', 'repo', 'session'],
    default: 'aw',
    about: 'Layout of a workspace that does not ask for one',
  },
  'workspaces.template': {
    kind: 'template',
    default: '',
    about:
      'The template that a workspace begins as when nothing else is asked for: NAME, its newest version, or NAME@VERSION; --from empty begins empty all the same; empty means none',
  },
  'workspaces.max_size_mb': {
    kind: 'count',
    default: 1000,
    about: 'What a workspace that does not ask for another limit may hold beyond what it began as; 0 means no limit',
  },
  'workspaces.max_workspaces': {
    kind: 'count',
    default: 0,
    about: 'How many workspaces may be live at once; 0 means as many as fit',
  },
  'workspaces.dir_mode': {
    kind: 'directory mode',
    default: 0o755,
    about: 'Mode of directories that aw makes in a workspace',
  },
  'workspaces.uid': {
    kind: { least: 1, most: 2 ** 32 - 2 },
    default: 61_000,
    about:
      'Whom new workspaces belong to on disk, as user and group, when root runs aw; not 0, as commands in a sandbox are not root; without meaning for other users, who cannot give files away',
  },
  'workspaces.file_mode': { kind: 'mode', default: 0o644, about: 'Mode of files that aw makes in a workspace' },
  'storage.root': {
    kind: 'path',
    default: '',
    about: 'The directory that holds the trees, on one mount; empty means HOME/storage; relative to the home',
  },
  'storage.driver': {
    kind: storageChoices,
    default: 'auto',
    about: 'How trees are kept; auto takes the best that works when the storage root is made, and keeps to it',
  },
  'space.min_free_mb': { kind: 'count', default: 64, about: 'No workspace is made when less space than this is free' },
  'space.watch_ms': {
    kind: 'milliseconds',
    default: 2000,
    about:
      'How often a running sandbox is checked against the size limit of its workspace where the kernel does not enforce it; less often in large trees; 0 means never',
  },
  'space.reserve_mb': {
    kind: 'count',
    default: 4,
    about: 'Space that is kept in the home to destroy and erase with when the disk is full; 0 keeps none',
  },
  'space.budget_mb': {
    kind: 'count',
    default: 0,
    about: 'What all live workspaces may grow to together, the sum of their max_size_mb; 0 means no limit',
  },
  'space.per_repo_mb': {
    kind: 'count',
    default: 0,
    about: 'The same for the live workspaces of each repository, forks included; 0 means no limit',
  },
  'space.per_label': {
    kind: 'label limits',
    default: '',
    about: 'The same for the live workspaces with a label, in MB: team=web:5000, user=ann:20000',
  },
  'space.warn_percent': {
    kind: { least: 0, most: 100 },
    default: 85,
    about: 'aw doctor and aw usage warn when so much of the disk, of its inodes or of a budget is taken; 0 never warns',
  },
  'space.warn_total_mb': {
    kind: 'count',
    default: 51_200,
    about:
      'aw doctor and aw usage warn when workspaces, snapshots, bases and the trash take up more than this together; 0 never warns',
  },
  'snapshots.max': {
    kind: 'count',
    default: 20,
    about: 'Snapshots a workspace may have besides safety copies; automatic ones make room; 0 is no limit',
  },
  'snapshots.safety_mb': {
    kind: 'count',
    default: 10240,
    about:
      'Space that the safety copies of a workspace may take before gc erases the oldest; counted are the files in which each differs from the next newer one, or the newest from the snapshot before it; 0 is no limit',
  },
  'trash.retention_days': {
    kind: 'count',
    default: 7,
    about: 'How long a destroyed workspace can be brought back before aw gc erases it',
  },
  'workspaces.retention_days': {
    kind: 'count',
    default: 0,
    about:
      'aw gc moves a workspace to the trash that was not used for so long: nothing was done with it through aw and nobody had a lease; 0 means never',
  },
  'bases.retention_days': {
    kind: 'count',
    default: 14,
    about:
      'How long a base that no workspace began as, or what was fetched of a repository, stays unused before aw gc erases it; it is made again when it is needed',
  },
  'space.high_percent': {
    kind: { least: 0, most: 99 },
    default: 0,
    about:
      'When the storage is fuller than this, aw gc also erases what could stay, and moves the least recently used workspaces to the trash; 0 means never',
  },
  'space.low_percent': {
    kind: { least: 0, most: 99 },
    default: 0,
    about: 'How full the storage may be for aw gc to stop doing so; 0 means ten percent below space.high_percent',
  },
  'archive.before_expiry': {
    kind: 'switch',
    default: false,
    about: 'Pack a workspace that expired into a file before aw gc erases it from the trash',
  },
  'archive.directory': {
    kind: 'path',
    default: '',
    about: 'Where these files are; empty means HOME/archives; relative to the home',
  },
  'archive.retention_days': {
    kind: 'count',
    default: 0,
    about: 'How long aw gc leaves these files; 0 means for ever',
  },
  'runs.agent': { kind: 'agent', default: '', about: 'The agent that aw run takes when none is named' },
  'runs.snapshot': {
    kind: ['each-run', 'off'],
    default: 'each-run',
    about: 'Keep the workspace before and after each run, so that aw undo takes a run back',
  },
  'runs.record_prompt': {
    kind: 'switch',
    default: true,
    about: 'Keep the prompt of a run in its run.json; else only the hash of it is kept',
  },
  'runs.label_from_prompt': {
    kind: 'switch',
    default: false,
    about:
      'Label a run, and the snapshot that it leaves, with the first line of its prompt if that is kept, instead of with its number; that line then stands in the event log, and stays there',
  },
  'runs.log_mb': { kind: 'count', default: 64, about: 'How much of the output of a run is kept, the newest' },
  'runs.keep_logs': {
    kind: 'count',
    default: 20,
    about: 'Of how many runs of a workspace, the newest, the output is kept; 0 means of all',
  },
  'agents.unbrokered': {
    kind: ['refuse', 'without', 'environment'],
    default: 'refuse',
    about:
      'What becomes of an agent’s credential where nothing can keep it out of the sandbox: the sandbox is refused, it starts without the credential, or all that runs inside finds it in its environment',
  },
  'shutdown.policy': {
    kind: ['keep', 'stop', 'trash'],
    default: 'keep',
    about: 'What aw shutdown does with workspaces: leave them, end what runs around them, or move them to the trash',
  },
  'shutdown.timeout_ms': {
    kind: 'milliseconds',
    default: 5000,
    about: 'How long aw shutdown may take',
  },
  'git.enabled': {
    kind: 'switch',
    default: false,
    about: 'Make a git repository in a new workspace that does not say',
  },
  'git.shallow': {
    kind: 'switch',
    default: true,
    about: 'Take a repository without its history, unless a workspace asks for all of it',
  },
  'git.default_branch': {
    kind: 'branch',
    default: '',
    about: 'The branch of a repository to start from; empty means its own default branch',
  },
  'git.user_name': {
    kind: 'line',
    default: 'aw agent',
    about: 'Name for commits in that repository',
  },
  'git.user_email': {
    kind: 'line',
    default: 'agent@aw.invalid',
    about: 'Address for commits in that repository',
  },
  'files.max_read_mb': { kind: 'count', default: 64, about: 'Largest file that is read in one piece' },
  'locks.timeout_ms': {
    kind: 'milliseconds',
    default: 10_000,
    about: 'How long to wait for other operations on a workspace while they make no progress',
  },
  'locks.expiry_minutes': {
    kind: 'count',
    default: 60,
    about: 'When an operation of another host, whose process cannot be looked at from here, counts as given up',
  },
  'leases.force_after_seconds': {
    kind: 'count',
    default: 60,
    about: 'How long nothing must have been heard of the holder of a lease before aw adopt --force takes it over',
  },
  ...sandboxKeys,
  ...serverKeys,
  'log.checkpoint_every': { kind: 'count', default: 256, about: 'Seal the log after so many events' },
} as const satisfies Record<string, Key>
