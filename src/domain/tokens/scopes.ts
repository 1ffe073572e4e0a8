/**
 * What a token may allow, verb by verb. `read` shows workspaces, runs and events; `fs:…` is about files; `exec` about
 * commands and sandboxes; `workspace` makes, renames, forks and destroys. `admin` is all of them and everything that is
 * about the home or the machine. `approve` is for people: it is in no other scope, and no agent gets it.
 */
export const scopes = [
  'read',
  'fs:read',
  'fs:write',
  'exec',
  'env',
  'run',
  'snapshot',
  'workspace',
  'approve',
  'admin',
] as const

export type Scope = (typeof scopes)[number]
