import type { SandboxSpec } from '../../ports/sandbox-driver.ts'
import { gitIgnorePath } from './places.ts'
import type { Placeholder } from './record.ts'

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
    '[core]',
    `excludesFile = ${gitIgnorePath}`,
  ]
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** Names that are there only as long as the box is: git adds and removes none of them, wherever its repository begins. */
export function gitIgnore(placeholders: readonly Placeholder[]): Buffer {
  const lines = placeholders.flatMap(({ path }) => {
    const names = path.split('/')
    // There git does not look.
    if (names.includes('.git')) return []
    return names.map((_, index) => `/${names.slice(index).map(literal).join('/')}`)
  })
  return Buffer.from(lines.map((line) => `${line}\n`).join(''))
}

/** A pattern that means just this name. */
const literal = (name: string): string => name.replace(/[\\*?[\] ]/g, '\\$&')

/** Names have one line: whatever else could end it, or the text, is a space. */
const quoted = (value: string): string => `"${value.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&')}"`
