import type { Key } from './keys.ts'

/** Of sandboxes: how strong their walls are, and what they may use. */
export const sandboxKeys = {
  'sandbox.isolation': {
    kind: ['none', 'guarded', 'namespace'],
    default: 'namespace',
    about: 'How strongly a command is kept in its workspace when nobody says; what cannot be had is an error',
  },
  'sandbox.required': {
    kind: 'switch',
    default: false,
    about:
      'Refuse to serve on a machine where the level of sandbox.isolation does not work; else only what asks for it is refused',
  },
  'sandbox.network': {
    kind: ['none', 'allowlist', 'host'],
    default: 'none',
    about: 'What a sandbox may reach: nothing, the hosts of sandbox.allow, or all that this machine can',
  },
  'sandbox.allow': {
    kind: 'hosts',
    default: '',
    about: 'Hosts and presets for the network allowlist: npm, github, api.example.com, *.example.com:8443',
  },
  'sandbox.memory_mb': { kind: 'count', default: 0, about: 'Memory of a sandbox; 0 means no limit' },
  'sandbox.cpu_percent': {
    kind: 'count',
    default: 0,
    about: 'Processor time of a sandbox, in percent of one core; 0 means no limit',
  },
  'sandbox.processes': { kind: 'count', default: 1024, about: 'Processes in a sandbox; 0 means no limit' },
  'sandbox.open_files': { kind: 'count', default: 4096, about: 'Open files of a process; 0 means no limit' },
  'sandbox.file_size_mb': { kind: 'count', default: 0, about: 'Largest file that may be written; 0 means no limit' },
  'sandbox.timeout_ms': { kind: 'milliseconds', default: 0, about: 'How long a command may run; 0 means no limit' },
  'sandbox.output_mb': {
    kind: 'count',
    default: 0,
    about: 'How much a command may write to its output before the rest is thrown away; 0 means no limit',
  },
  'sandbox.cgroup_required': {
    kind: 'switch',
    default: false,
    about: 'Refuse to start a sandbox whose limits of memory, cpu and processes no cgroup can hold',
  },
  'sandbox.mount': {
    kind: 'mount',
    default: '/workspace',
    about: 'Where sandboxes have their workspace; random gives each workspace a name of its own, /mnt/aw-1a2b3c4d',
  },
  'sandbox.protect': {
    kind: 'names',
    default: '.git/hooks',
    about: 'Names below the content of a workspace that a sandbox may read but not write, with commas between',
  },
  'sandbox.snapshot': {
    kind: ['off', 'each-exec'],
    default: 'off',
    about: 'Keep the workspace before and after each command, so that aw undo takes a command back',
  },
  'sandbox.first_port': {
    kind: { least: 1, most: 32_767 },
    default: 10_000,
    about: 'Where the blocks of ports begin of which each workspace has one (AW_PORT_BASE)',
  },
  'sandbox.ports': { kind: { least: 1, most: 32_767 }, default: 10, about: 'How many ports such a block has' },
  'sandbox.first_uid': {
    kind: { least: 2, most: 2 ** 32 - 2 - 32_768 },
    default: 700_000_000,
    about:
      'Where the user ids begin of which each workspace has one, if root starts the sandboxes; their proxies have those below',
  },
} as const satisfies Readonly<Record<string, Key>>
