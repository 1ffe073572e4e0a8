import { isAgentName } from '../agents/check.ts'
import { parseGitRef } from '../git/ref.ts'
import { maxCount, maxTimerMs } from '../text/max-values.ts'
import { isTemplateRef } from '../names.ts'
import { parseRules } from '../network/rules.ts'
import { maxPathBytes } from '../paths.ts'
import { isRandomMount } from '../sandbox/mount.ts'
import { assertMountTarget, protectedNames } from '../sandbox/mount-target.ts'
import { parseLabelLimits } from '../space/limits.ts'
import { parseTcpAddress } from '../network/tcp-address.ts'

/** How a setting is written: the name of a kind, a range of whole numbers, or one of a few words. */
export type Kind = keyof typeof kinds | Range | readonly string[]

interface Range {
  readonly least: number
  readonly most: number
}

interface Rule {
  /** In the table of settings. */
  readonly title: string
  /** Completes "it must be". */
  readonly accepts: string
  /**
   * The value, or undefined if it is not of this kind. A check that the setting's user makes later is made here, by the
   * same function; what it throws says what is wrong.
   *
   * @param isText it comes from the environment or the command line, where everything is text
   */
  read(value: unknown, isText: boolean): string | number | boolean | undefined
}

/** What is written with commas between. */
export const listOf = (text: string): string[] => text.split(',').flatMap((item) => item.trim() || [])

const isPlain = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0')

/** Text that a parser takes; the parser's own error says why it does not. */
const textOf = (accepts: string, check: (text: string) => boolean | void, title = 'text'): Rule => ({
  title,
  accepts,
  read: (value) => (isPlain(value) && check(value) !== false ? value : undefined),
})

const rangeOf = ({ least, most }: Range, accepts = `a whole number from ${least} to ${most}`): Rule => ({
  title: 'whole number',
  accepts,
  read(value, isText) {
    const number = isText && typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    const isWithin = Number.isSafeInteger(number) && (number as number) >= least && (number as number) <= most
    return isWithin ? (number as number) : undefined
  },
})

/** Octal text, or a number from a TOML octal literal. A mode that locks its owner out would break the workspace. */
const modeOf = (accepts: string, owner: number): Rule => ({
  title: 'octal mode',
  accepts,
  read(value) {
    const isOctal = typeof value === 'string' && /^(0o)?[0-7]{3,4}$/.test(value)
    const number = isOctal ? Number.parseInt(value.replace('0o', ''), 8) : value
    if (!Number.isSafeInteger(number)) return undefined
    const bits = number as number
    return bits >= 0 && bits <= 0o7777 && (bits & owner) === owner ? bits : undefined
  },
})

export const kinds = {
  path: textOf(
    `a path of at most ${maxPathBytes} bytes without a NUL byte`,
    (text) => Buffer.byteLength(text) <= maxPathBytes,
  ),
  // What git itself takes for a name: it drops these characters at both ends, and refuses what is left empty.
  line: textOf('one line of text, not empty', (text) => !/\p{Cc}/u.test(text) && /[^ .,:;<>"\\']/.test(text)),
  hosts: textOf(
    'hosts and presets with commas between, such as npm, api.example.com, *.example.com:8443',
    (text) => void parseRules(listOf(text)),
  ),
  names: textOf('relative paths with commas between, such as .git/hooks, .github', (text) =>
    listOf(text).forEach(protectedNames),
  ),
  mount: textOf(
    'random, or an absolute path that a sandbox has nothing at, such as /workspace',
    (text) => isRandomMount(text) || assertMountTarget(text, 'The workspace'),
  ),
  listen: textOf('127.0.0.1:PORT, [::1]:PORT or localhost:PORT, or empty', (text) => void parseTcpAddress(text)),
  branch: textOf('the name of a branch, or empty', (text) => void parseGitRef(text === '' ? null : text)),
  agent: textOf(
    'the name of an agent, 1 to 32 of a-z, 0-9 and -, or empty',
    (text) => text === '' || isAgentName(text),
  ),
  template: textOf(
    'the name of a template, or NAME@VERSION, as in web-app@2, or empty',
    (text) => text === '' || isTemplateRef(text),
    'NAME or NAME@VERSION',
  ),
  'label limits': textOf(
    'a list of LABEL=VALUE:MB, each label once and above 0 MB, as in team=web:5000, user=ann:20000',
    (text) => parseLabelLimits(text) !== undefined,
    'label=value:MB, …',
  ),
  count: rangeOf({ least: 0, most: maxCount }, `a whole number, 0 or more, at most ${maxCount}`),
  positive: rangeOf({ least: 1, most: maxCount }, `a whole number, 1 or more, at most ${maxCount}`),
  milliseconds: rangeOf(
    { least: 0, most: maxTimerMs },
    `a whole number, from 0 to ${maxTimerMs} (24 days): no clock counts further`,
  ),
  switch: {
    title: 'true or false',
    accepts: 'true or false',
    read(value, isText) {
      if (!isText || typeof value === 'boolean') return typeof value === 'boolean' ? value : undefined
      return value === 'true' ? true : value === 'false' ? false : undefined
    },
  },
  mode: modeOf('an octal mode such as 0644 that lets its owner read and write (0600)', 0o600),
  'directory mode': modeOf('an octal mode such as 0755 that lets its owner read, write and enter (0700)', 0o700),
} as const satisfies Record<string, Rule>

export function ruleOf(kind: Kind): Rule {
  if (typeof kind === 'string') return kinds[kind]
  if ('least' in kind) return rangeOf(kind)
  return {
    title: kind.map((word) => `\`${word}\``).join(' or '),
    accepts: `one of ${kind.join(', ')}`,
    read: (value) => (typeof value === 'string' && kind.includes(value) ? value : undefined),
  }
}
