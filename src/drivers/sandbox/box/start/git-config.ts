import type { SandboxSpec } from '../../../../ports/sandbox-driver.ts'
import { gitIgnorePath } from './paths.ts'
import type { Placeholder } from '../record.ts'

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

/**
 * Names that are there only as long as the box is: git adds and removes none of them, whether its repository begins at the
 * root of the tree or where its content does. The same names elsewhere are as good as any others.
 */
export function gitIgnore(placeholders: readonly Placeholder[], content = '.'): Buffer {
  // There git does not look.
  const paths = placeholders.map(({ path }) => path).filter((path) => !path.split('/').includes('.git'))
  const within = paths.flatMap((path) => (path.startsWith(`${content}/`) ? [path.slice(content.length + 1)] : []))
  return Buffer.from([...new Set([...paths, ...within])].map((path) => `/${literal(path)}\n`).join(''))
}

/** A pattern that means just this path. */
const literal = (path: string): string => path.replace(/[\\*?[\] ]/g, '\\$&')

/** Names have one line: whatever else could end it, or the text, is a space. */
const quoted = (value: string): string => `"${value.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&')}"`
