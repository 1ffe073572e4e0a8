import type { SandboxSpec } from '../../ports/sandbox-driver.ts'

/**
 * The system's settings of git in a box: who commits there, where neither the repository nor the agent says it. All that
 * is inside is the box's, whoever it belongs to outside, so no repository is too suspicious for git to look at.
 */
export function gitConfig({ name, email }: NonNullable<SandboxSpec['gitUser']>): Buffer {
  const lines = [
    '[user]',
    ...(name === '' ? [] : [`name = ${quoted(name)}`]),
    ...(email === '' ? [] : [`email = ${quoted(email)}`]),
    '[safe]',
    'directory = *',
  ]
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** Names have one line: whatever else could end it, or the text, is a space. */
const quoted = (value: string): string => `"${value.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&')}"`
