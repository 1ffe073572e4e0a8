import { readFileSync } from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { isBridgeName, type Bridge } from '../../../domain/network/bridge.ts'
import { parseBrokers, type Broker, type BrokerRoute } from '../../../domain/network/broker.ts'
import { parseRules, type Rule } from '../../../domain/network/rules.ts'
import { defaultLimits, type ProxyLimits } from './limits.ts'

/**
 * What a proxy is told, in a file that only its owner reads: nothing of it is an argument that others could see. The
 * headers of its brokers are secret; it is in no error either.
 */
export interface ProxySettings {
  /** As its owner would name the workspace, to say what to type. */
  readonly workspace: string
  /** Rules and presets, as they were written. */
  readonly allow: readonly string[]
  /** Whom it becomes if root starts it: a user and group of its own, never 0. */
  readonly user?: number | undefined
  readonly limits?: Partial<ProxyLimits> | undefined
  readonly brokers?: readonly Broker[] | undefined
  readonly bridge?: Bridge | undefined
  /** Certificates (PEM) of those whom it trusts for its brokers, beside Node's and the system's. */
  readonly authorities?: readonly string[] | undefined
}

/** `invalid_input` if a rule or a broker is none, so that it is noticed before a box starts. */
export function assertSettings({ allow, brokers = [] }: Omit<ProxySettings, 'bridge'>, hasBridge: boolean): void {
  parseRules(allow)
  parseBrokers(brokers)
  if (!hasBridge || !brokers.some(isBridgeName)) return
  throw new AwError('invalid_input', 'The broker mcp has the name of the MCP bridge', {
    hint: 'Give it another name',
    data: { broker: 'mcp', field: 'name' },
  })
}

/** The content of that file. */
export function settingsText(settings: ProxySettings): string {
  const { workspace, allow, user, limits = {}, brokers = [], bridge, authorities = [] } = settings
  assertSettings(settings, bridge !== undefined)
  return `${JSON.stringify({ version: 1, workspace, allow, user, limits, brokers, bridge, authorities })}\n`
}

export interface ReadSettings {
  readonly workspace: string
  readonly allow: readonly string[]
  readonly rules: readonly Rule[]
  readonly user: number | undefined
  readonly limits: ProxyLimits
  readonly brokers: readonly BrokerRoute[]
  readonly bridge: Bridge | undefined
  readonly authorities: readonly string[]
}

/** All of it is understood or it is refused: what an older program would overlook might have been a wall. */
export function readSettings(file: string): ReadSettings {
  const settings = parse(readFileSync(file, 'utf8'))
  const { version, workspace, allow, user, limits, brokers, bridge, authorities, ...unknown } = settings
  if (version !== 1 || Object.keys(unknown).length > 0) throw unreadable()
  if (typeof workspace !== 'string' || !isTexts(allow) || !isUser(user) || !isLimits(limits)) throw unreadable()
  if (!isList(brokers) || !isBridge(bridge) || !isTexts(authorities)) throw unreadable()
  return {
    workspace,
    allow,
    rules: parseRules(allow),
    user,
    limits: { ...defaultLimits, ...limits },
    brokers: parseBrokers(brokers),
    bridge,
    authorities,
  }
}

/** What is wrong with it is not said with a part of it, as the parser would. */
function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    throw unreadable()
  }
}

/** What is in it, `parseBrokers` looks at. */
const isList = (value: unknown): value is Broker[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null)

const isBridge = (value: unknown): value is Bridge | undefined =>
  value === undefined ||
  (typeof value === 'object' &&
    value !== null &&
    'directory' in value &&
    'token' in value &&
    isTexts(Object.values(value)))

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const isUser = (value: unknown): value is number | undefined =>
  value === undefined || (Number.isSafeInteger(value) && Number(value) > 0)

const isLimits = (value: unknown): value is Partial<ProxyLimits> =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(
    ([name, limit]) => Object.hasOwn(defaultLimits, name) && Number.isSafeInteger(limit) && limit > 0,
  )

const unreadable = (): AwError => new AwError('invalid_input', 'The settings of the proxy are not of this version')
