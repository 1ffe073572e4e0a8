import type { Inputs, Outputs } from '../../api/table.ts'
import type { AgentProfile } from '../../domain/agents/profile.ts'
import { toAwError } from '../../domain/errors.ts'
import { isolations, type Isolation } from '../../domain/sandbox/spec.ts'
import type { FoundProgram } from '../../ports/agents.ts'
import type { Sandbox } from '../../ports/sandbox-driver.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core, Finding, Request } from '../core.ts'
import { withScratch } from '../files/scratch.ts'
import { credentialOf, sourceText, upstreamOf } from './credentials.ts'
import { equipmentOf, nameInside, programOf } from './equipment.ts'
import { agentOf } from './profiles.ts'

/** Starts an agent in a sandbox of each level and says what is missing. */
export async function testAgent(
  core: Core,
  input: Inputs['agents test'],
  request: Request,
): Promise<Outputs['agents test']> {
  const findings = await agentFindings(core, input.name, request)
  return { ok: findings.every(({ status }) => status !== 'problem'), findings }
}

/** The same for `aw doctor`: an agent that is not there, or not right, is a finding like the others. */
export async function agentFindings(core: Core, name: string, request: Request): Promise<Finding[]> {
  const { profile } = await agentOf(core, name)
  const program = await programOf(core, profile).catch(toAwError)
  const about = `agent ${name}`
  if (program instanceof Error)
    return [{ name: about, status: 'problem', message: program.message, hint: program.hint ?? null }]
  return [
    { name: about, status: 'ok', message: `${profile.title} is ${programText(program)}`, hint: null },
    ...(await levelFindings(core, profile, request)),
    await credentialFinding(core, profile),
  ]
}

const programText = ({ path, runtime }: FoundProgram): string => {
  if (runtime === undefined) return path
  const version = runtime.version === undefined ? '' : ` ${runtime.version}`
  return `${path}, run by ${runtime.name}${version} (${runtime.path})`
}

async function levelFindings(core: Core, profile: AgentProfile, request: Request): Promise<Finding[]> {
  const usual = core.config.settings['sandbox.isolation']
  const findings: Finding[] = []
  for (const isolation of isolations.toReversed()) {
    const name = `agent ${profile.name} at ${isolation}`
    try {
      const said = await versionIn(core, profile, isolation, request)
      findings.push({ name, status: isolation === usual ? 'ok' : 'info', message: `starts: ${said}`, hint: null })
    } catch (error) {
      const { message, hint = null } = toAwError(error)
      const status = isolation === usual ? 'problem' : 'info'
      findings.push({ name, status, message: `does not start: ${message}`, hint })
    }
  }
  return findings
}

/** What it says when it is asked for its version, in a box of its own around nothing. */
async function versionIn(core: Core, profile: AgentProfile, isolation: Isolation, request: Request): Promise<string> {
  const driver = await core.sandboxes(isolation)
  const probe = await driver.probe()
  if (!probe.usable) throw toAwError(new Error(probe.reasons.join('; ')))
  return withScratch(core, request, async (place) => {
    await core.storage.create(place, { signal: request.signal })
    try {
      const spec = await specFor(core, profile, isolation, place)
      await using box = await driver.start(place.name, await driver.plan(spec), { signal: request.signal })
      try {
        return await runAndRead(box, [nameInside(profile), ...profile.version], request)
      } finally {
        await box.stop({ graceMs: 0 })
      }
    } finally {
      await core.agents.remove(place.name)
    }
  })
}

/** No network, and so no credential: what is tried is whether it starts. */
async function specFor(core: Core, profile: AgentProfile, isolation: Isolation, place: Place) {
  const network = { mode: isolation === 'none' ? ('host' as const) : ('none' as const) }
  const box = { isolation, network, limits: {}, mount: '/workspace', shared: [], agent: profile.name }
  const { protect: _, ...equipment } = await equipmentOf(core, place.name, box, { withCredential: false })
  return {
    ...equipment,
    attachment: core.storage.attachment(place),
    mount: box.mount,
    protect: [],
    network,
    limits: {},
    defaults: {},
    cgroupRequired: false,
    once: true,
  }
}

const longestMs = 60_000
const maxShown = 200

async function runAndRead(box: Sandbox, argv: readonly string[], { signal }: Request): Promise<string> {
  const execution = box.exec({ argv, cwd: '.', env: {}, limits: { wall_ms: longestMs, output_mb: 1 }, signal })
  execution.exit.catch(() => undefined)
  let text = ''
  for await (const { data } of execution.output) text += Buffer.from(data).toString()
  const { code, signal: killed, timed_out: late } = await execution.exit
  const shown = text.trim().split('\n').slice(0, 3).join(' ').slice(0, maxShown)
  if (code === 0) return shown
  const how = late ? `took longer than ${longestMs / 1000} s` : `ended with ${killed ?? code}`
  throw new Error(`${argv.join(' ')} ${how}: ${shown || 'it said nothing'}`)
}

/** The rest of an address may hold what is not for everybody's eyes. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : 'an address that is none')

async function credentialFinding(core: Core, profile: AgentProfile): Promise<Finding> {
  const name = `agent ${profile.name} credential`
  const found = await credentialOf(core, profile)
  if (found !== undefined) {
    const { from, broker } = found.credential
    const how =
      broker === undefined
        ? 'a file inside that only its user can read has it'
        : `the proxy adds it for ${originOf(await upstreamOf(core, broker))}, and it never enters the sandbox`
    return { name, status: 'ok', message: `${sourceText(from)}: ${how}`, hint: null }
  }
  if (profile.credentials.length === 0) return { name, status: 'info', message: 'it uses none', hint: null }
  const ways = profile.credentials.map(({ from }) => sourceText(from))
  return {
    name,
    status: 'warning',
    message: `none is there: ${ways.length === 1 ? 'not' : 'neither'} ${ways.join(' nor ')}`,
    hint: `Set ${ways[0]}; or log in inside: aw shell ID --agent ${profile.name}`,
  }
}
