import { closeSync, fstatSync, openSync } from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { fixes } from '../../../domain/sandbox/fixes.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { native, nativeProblem } from '../../../sys/syscalls/native.ts'
import { O_PATH } from '../../../sys/safe-fs/descriptors.ts'

/**
 * Landlock: rules by which a process gives up most of what its user may do with files, for itself and all that it starts.
 * A set of rules is made here and handed over as a descriptor; whoever applies it can never undo it.
 */
export interface LandlockRules {
  /** Everything below, but no devices are made. */
  readonly writable: readonly string[]
  /** Read and run. A path that is not there gives no rule. */
  readonly readable: readonly string[]
  /** Single files and devices that are read and written, as /dev/null. */
  readonly devices: readonly string[]
  /** Whether TCP connections can be made and waited for. */
  readonly tcp: boolean
}

/** Which version of Landlock the kernel has; 0 if none, or if it cannot be asked. */
export function landlockVersion(): number {
  try {
    return native()?.createRuleset(null, askVersion) ?? 0
  } catch (error) {
    if (hasCode(error, 'ENOSYS', 'EOPNOTSUPP', 'EPERM')) return 0
    throw error
  }
}

/** Why there is none, in words. */
export const landlockProblem = (): string => nativeProblem() ?? 'the kernel has no Landlock, or it is switched off'

/** What would change that. */
export const landlockFix = (): string => (nativeProblem() === undefined ? fixes.landlock : fixes.calls)

/** What this version does not hold, in words, the worst first. */
export const landlockGaps = (version: number): string[] =>
  gaps.flatMap(([since, what]) => (version < since ? [what] : []))

const gaps: readonly (readonly [since: number, what: string])[] = [
  [2, 'files cannot be renamed or linked from one directory to another (Linux 5.19 and later let them)'],
  [3, 'files that can be seen can be truncated, also where they cannot be written (held since Linux 6.2)'],
  [5, 'devices that can be seen can be told things by ioctl (held since Linux 6.10)'],
  [6, 'signals can be sent to other processes of the same user, and abstract sockets reached (held since Linux 6.12)'],
]

/** A descriptor of the rules, which the caller closes. `sandbox_unenforceable` where there is no Landlock. */
export function landlockRuleset(rules: LandlockRules): number {
  const calls = native()
  const version = landlockVersion()
  if (calls === undefined || version === 0) {
    throw new AwError('sandbox_unenforceable', `Landlock cannot be had: ${landlockProblem()}`, {
      hint: landlockFix(),
    })
  }
  const all = handled(version)
  const attributes = Buffer.alloc(version >= 6 ? 24 : version >= 4 ? 16 : 8)
  attributes.writeBigUInt64LE(BigInt(all), 0)
  if (version >= 4 && !rules.tcp) attributes.writeBigUInt64LE(bindAndConnect, 8)
  if (version >= 6) attributes.writeBigUInt64LE(abstractSocketsAndSignals, 16)
  const ruleset = calls.createRuleset(attributes, 0)
  try {
    const add = (path: string, access: number): void => addPath(ruleset, path, access & all)
    for (const path of rules.writable) add(path, ~(access.makeCharacter | access.makeBlock))
    for (const path of rules.readable) add(path, access.execute | access.readFile | access.readDirectory)
    for (const path of rules.devices) add(path, access.readFile | access.writeFile | access.ioctl | access.truncate)
    return ruleset
  } catch (error) {
    closeSync(ruleset)
    throw error
  }
}

/** The object at the path counts from then on, whatever has its name later. */
function addPath(ruleset: number, path: string, wanted: number): void {
  const fd = openIfPresent(path)
  if (fd === undefined) return
  try {
    const rule = Buffer.alloc(12)
    rule.writeBigUInt64LE(BigInt(fstatSync(fd).isDirectory() ? wanted : wanted & ofFiles), 0)
    rule.writeInt32LE(fd, 8)
    native()?.addRule(ruleset, pathBeneath, rule)
  } finally {
    closeSync(fd)
  }
}

function openIfPresent(path: string): number | undefined {
  try {
    return openSync(path, O_PATH)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined
    throw error
  }
}

const askVersion = 1
const pathBeneath = 1
const bindAndConnect = 3n
const abstractSocketsAndSignals = 3n

const access = {
  execute: 0x1,
  writeFile: 0x2,
  readFile: 0x4,
  readDirectory: 0x8,
  makeCharacter: 0x40,
  makeBlock: 0x800,
  truncate: 0x4000,
  ioctl: 0x8000,
} as const
const ofFiles = access.execute | access.writeFile | access.readFile | access.truncate | access.ioctl

/** All the rights that a version knows: each that is not named in a rule is refused. */
const handled = (version: number): number => [0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff][Math.min(version, 5)] ?? 0
