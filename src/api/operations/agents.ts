import { operation } from '../operation.ts'
import { boolean, json, list, nullable, object, string } from '../schema.ts'
import { findingView } from '../views.ts'

const name = string('The agent: claude, codex … (aw agents list)')

export const agentOperations = [
  operation({
    name: 'agents list',
    kind: 'read',
    group: 'Runs',
    routes: ['GET /agents'],
    scope: 'admin',
    near: true,
    summary: 'List the agents that can work in a workspace',
    details:
      'Those that aw knows, and those of your own files in agents.d of the home. installed says whether the program is on this machine.',
    input: object({}),
    output: list(
      object({
        name: string('How it is asked for'),
        title: string('What it is'),
        installed: boolean('Whether its program can be started here'),
        program: nullable(string('Where that is')),
        credential: nullable(string('Where its credential would be taken from: a variable or a file; never its value')),
        file: nullable(string('The file of yours that adds or changes it')),
        problem: nullable(string('Why it cannot be used')),
      }),
      'By name',
    ),
    positional: [],
    errors: ['invalid_config'],
    examples: ['aw agents list'],
  }),
  operation({
    name: 'agents show',
    kind: 'read',
    group: 'Runs',
    routes: ['GET /agents/:name'],
    scope: 'admin',
    near: true,
    summary: 'Show the profile of an agent, and what its sandbox would be given',
    input: object({ name }),
    output: object({
      profile: json('All its fields, as a file in agents.d would have them'),
      file: nullable(string('The file of yours that adds or changes it')),
      program: nullable(string('What is started')),
      runtime: nullable(string('What runs it, if it is a script')),
      reads: list(string('A path'), 'What of this machine its sandbox can read because of it'),
      credential: nullable(string('Where its credential would be taken from')),
      problem: nullable(object({ message: string('Why it cannot be used'), hint: nullable(string('What to do')) })),
    }),
    positional: ['name'],
    errors: ['agent_not_found', 'invalid_config'],
    examples: ['aw agents show claude', 'aw agents show claude --json'],
  }),
  operation({
    name: 'agents test',
    kind: 'write',
    group: 'Runs',
    routes: ['POST /agents/:name/test'],
    scope: 'admin',
    near: true,
    summary: 'Start an agent in a sandbox of each level, and say what is missing',
    details:
      'It is asked for its version, without a network, in an empty directory that is erased afterwards. Its credential is looked for and not used.',
    input: object({ name }),
    output: object({ ok: boolean('False if it does not start at the usual level'), findings: list(findingView) }),
    positional: ['name'],
    errors: ['agent_not_found', 'invalid_config', 'disk_full', 'permission_denied', 'timeout'],
    examples: ['aw agents test claude'],
  }),
] as const
