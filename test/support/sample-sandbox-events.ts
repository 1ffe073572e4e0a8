import type { EventData } from '../../src/domain/log/event.ts'
import type { TemplateSetup } from '../../src/domain/sources/template-setup.ts'
import type { Owner } from '../../src/domain/workspace/state.ts'

export const whose = { task_id: 'fix-login', agent_id: 'main' }

export const owner: Owner = {
  host: 'builder',
  boot_id: 'f1f6f7a0-4f1c-4f0e-9d0e-0c6f5b7d7a11',
  pid_namespace: '4026531836',
  pid: 4242,
  start_time: '123456',
}

export const sampleSnapshot = 'snap_01hzx5k8w40000000000000004' as const

const box = {
  sandbox: 'box_01hzx5k8w40000000000000006' as const,
  isolation: 'namespace' as const,
  network: { mode: 'allowlist' as const, allow: ['registry.npmjs.org'] },
  limits: { memory_mb: 2048 },
  mount: '/workspace',
  shared: [{ name: 'cache', path: '/shared/cache', writable: true }],
}
const walls = {
  grades: { processes: 'rlimit' as const, open_files: 'rlimit' as const },
  notes: ['"work/.git/hooks" is not kept read-only: "work/.git" is a link'],
}
const command = 'cmd_01hzx5k8w40000000000000007' as const
const run = 'run_01hzx5k8w40000000000000008' as const
const exit = {
  code: 0,
  signal: null,
  duration_ms: 4200,
  peak_memory_bytes: 104857600,
  cpu_ms: 3900,
  timed_out: false,
  output_cut: false,
}

const setup = {
  commands: ['npm ci', ['node', 'build.js']],
  isolation: 'namespace' as const,
  network: box.network,
  limits: { memory_mb: 2048, wall_ms: 600_000 },
  mount: '/workspace',
  logs: [command],
}

export const sampleSetup: TemplateSetup = {
  ...setup,
  inputs: ['package-lock.json'],
  key: 'c'.repeat(64),
  source: 'd'.repeat(64),
  files: { 'package-lock.json': 'e'.repeat(64) },
  added: ['work/node_modules/', 'work/.npm-stamp'],
  version: 1,
  ran_at: '2026-11-15T09:00:00.000Z',
  duration_ms: 12_000,
}

const setupOf = { template: 'web-app', sandbox: 'scratch_01hzx5k8w40000000000000009' }

type Sandboxes = Extract<
  keyof EventData,
  `sandbox_${string}` | `command_${string}` | `run_${string}` | `template_setup_${string}` | 'workspace_slot_taken'
>

/** Those about sandboxes, commands, runs and set-ups. */
export const sandboxSamples: { readonly [T in Sandboxes]: EventData[T] } = {
  sandbox_launch_started: { ...whose, operation: 'launch', owner, ...box },
  sandbox_launched: {
    ...whose,
    sandbox: box.sandbox,
    supervisor: owner,
    grades: { memory_mb: 'cgroup', open_files: 'rlimit' },
    notes: ['cpu is not limited: there is no cgroup of ours'],
  },
  sandbox_stop_started: { ...whose, operation: 'stop', owner, sandbox: box.sandbox, why: 'user' },
  sandbox_stopped: { ...whose, sandbox: box.sandbox, why: 'user' },
  workspace_slot_taken: { ...whose, slot: 3 },
  command_started: {
    ...whose,
    command,
    owner,
    sandbox: box.sandbox,
    own_sandbox: true,
    isolation: 'namespace',
    walls,
    argv: ['npm', 'test'],
    argv_cut: false,
    cwd: 'work',
    env: ['CI'],
    terminal: false,
  },
  command_ended: {
    ...whose,
    command,
    exit: { ...exit, code: 1 },
    snapshot: sampleSnapshot,
  },
  run_requested: {
    ...whose,
    run,
    number: 2,
    owner,
    agent: 'claude',
    argv: [],
    argv_cut: false,
    prompt: { sha256: 'b'.repeat(64), length: 120 },
    label: 'Mend the login',
    snapshot: 'each-run',
  },
  run_started: {
    ...whose,
    run,
    sandbox: box.sandbox,
    own_sandbox: true,
    isolation: 'namespace',
    before: sampleSnapshot,
  },
  run_cancel_started: { ...whose, run },
  run_completed: { ...whose, run, snapshot: sampleSnapshot, exit },
  run_failed: {
    ...whose,
    run,
    snapshot: null,
    exit: { ...exit, code: 1 },
    problem: { code: 'exit', message: 'it ended with exit code 1' },
  },
  run_cancelled: { ...whose, run, snapshot: null, exit: null, why: 'user' },
  template_setup_started: { ...setupOf, ...setup, owner },
  template_setup_ended: {
    ...setupOf,
    exits: [{ ...exit, code: 1 }],
    walls,
    problem: { code: 'setup_failed', message: 'The set-up of web-app failed: npm ci ended with exit code 1' },
  },
}
