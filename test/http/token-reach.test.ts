import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limited } from '../../src/access/limited.ts'
import type { Principal } from '../../src/access/principal.ts'
import type { Operation } from '../../src/api/operation.ts'
import { toAwError } from '../../src/domain/errors.ts'
import { scopes } from '../../src/domain/tokens/scopes.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { sampleInput, table } from './samples.ts'

/** For whoever is held to some workspaces, and whatever they ask for: no other one is read, changed, or made. */

const runs = Number(process.env['AW_FUZZ_RUNS'] ?? 25)
const seed = Number(process.env['AW_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const facts = {
  places: { home: '/home', basePath: '/workspaces', storageRoot: '/storage' },
  isolation: 'none',
  mount: { setting: '/workspace', isSet: false },
}
const names = ['a/x', 'a/y', 'b/x', 'b/main'] as const

interface Step {
  readonly operation: Operation
  /** Which workspace is named in which way. */
  readonly refs: readonly { readonly nth: number; readonly way: 'id' | 'name' | 'new' | 'none' }[]
  readonly at: { readonly field: string; readonly nth: number } | undefined
  readonly more: Readonly<Record<string, unknown>>
}

const operation = fc.constantFrom(...table.filter(({ name }) => !['shutdown', 'gc'].includes(name)))
const step: fc.Arbitrary<Step> = fc.record({
  operation,
  refs: fc.array(
    fc.record({ nth: fc.nat(names.length - 1), way: fc.constantFrom('id', 'name', 'name', 'new', 'none') }),
    { minLength: 2, maxLength: 2 },
  ),
  at: fc.option(
    fc.record({ field: fc.constantFrom('at', 'snapshot', 'snapshots', 'tree'), nth: fc.nat(names.length - 1) }),
    { nil: undefined },
  ),
  more: fc.constantFrom<Readonly<Record<string, unknown>>>(
    {},
    {},
    { count: 2 },
    { generate: 'free' },
    { force: true },
    { limit: 2 },
    { all: 'b' },
    { task: 'b' },
    { trashed: true },
    { as: 'b/y' },
    { isolation: 'none' },
    { purge: true },
  ),
})
const pattern = fc.oneof(
  fc.constantFrom('a/*', '*/x', 'a/x', 'b', 'new/*', '*', 'a', 'b/m*n'),
  fc.nat(names.length - 1).map((nth) => ({ nth })),
)
const who = fc.record({
  patterns: fc.array(pattern, { minLength: 1, maxLength: 2 }),
  scopes: fc.oneof(
    { weight: 3, arbitrary: fc.constant(scopes.filter((scope) => !['admin', 'approve'].includes(scope))) },
    { weight: 1, arbitrary: fc.subarray([...scopes].filter((scope) => scope !== 'admin')) },
  ),
})

/** Told in another way than the code does: character by character. */
function isLike(text: string, name: string): boolean {
  const [first, ...rest] = text
  if (first === undefined) return name === ''
  if (first !== '*') return name[0] === first && isLike(rest.join(''), name.slice(1))
  return isLike(rest.join(''), name) || (name !== '' && name[0] !== '/' && isLike(text, name.slice(1)))
}
const isTheirs = (patterns: readonly string[], { id, name }: { id: string; name: string }): boolean =>
  patterns.some(
    (one) => one === id || (!one.startsWith('ws_') && isLike(one.includes('/') ? one : `${one}/main`, name)),
  )

const secretOf = (id: string): string => `secret-of-${id}`

async function populated(core: Manager) {
  const made: { id: string; snapshot: string }[] = []
  for (const name of names) {
    const { id } = await core.call('create', { id: name })
    await core.call('fs write', { id, path: 'work/file', content: secretOf(id), parents: true })
    await core.call('label', { id, labels: { label: secretOf(id) } })
    await core.call('env set', { id, env: { A_NAME: secretOf(id) } })
    const { id: snapshot } = await core.call('snapshot', { id, label: 'good', meta: { text: secretOf(id) } })
    made.push({ id, snapshot })
  }
  // One that was forked from another, both ways.
  await core.call('fork', { id: 'a/x', to: ['c/forked'] })
  await core.call('fork', { id: 'b/x', to: ['a/forked'] })
  return made
}

const all = async (core: Manager): Promise<{ id: string; name: string }[]> =>
  (await core.call('list', { all: true })).map(({ id, workspace_id: name }) => ({ id, name }))

const historyOf = async (core: Manager): Promise<Map<string, number>> => {
  const counts = new Map<string, number>()
  for (const { stream } of await collect(core.stream('events', {}))) counts.set(stream, (counts.get(stream) ?? 0) + 1)
  return counts
}

function inputOf({ operation, refs, at, more }: Step, made: readonly { id: string; snapshot: string }[]) {
  const named = Object.entries(operation.names ?? {}).flatMap(([field, kind], i): [string, string][] => {
    const { nth, way } = refs[i] ?? { nth: 0, way: 'none' }
    if (way === 'none') return []
    if (way === 'new' || (kind === 'new' && way === 'id')) return [[field, `new/n${nth}`]]
    return [[field, way === 'id' ? (made[nth]?.id ?? '') : (names[nth] ?? '')]]
  })
  const input = sampleInput(operation, Object.fromEntries(named))
  const { properties = {} } = operation.input
  for (const [field, value] of Object.entries(more)) if (field in properties) input[field] = value
  if (at === undefined) return input
  const { snapshot } = made[at.nth] ?? { snapshot: '' }
  if (at.field === 'tree' && 'from' in input && operation.name === 'diff')
    input['from'] = `${String(input['from'])}@${snapshot}`
  if (at.field in properties) input[at.field] = properties[at.field]?.type === 'array' ? [snapshot] : snapshot
  return input
}

async function answerOf(
  manager: Manager,
  { name, form }: Operation,
  input: object,
): Promise<{ ok: boolean; text: string }> {
  const text = (value: unknown): string =>
    value instanceof Uint8Array
      ? Buffer.from(value).toString()
      : JSON.stringify(value, (_, one: unknown) => (isBytes(one) ? Buffer.from(one.data).toString() : one))
  try {
    if (form !== 'stream') return { ok: true, text: text(await manager.call(name as never, input as never)) }
    const context = { signal: AbortSignal.timeout(2_000) }
    return {
      ok: true,
      text: (await collect(manager.stream(name as never, input as never, context))).map(text).join('\n'),
    }
  } catch (error) {
    return { ok: false, text: JSON.stringify(toAwError(error)) }
  }
}
const isBytes = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value

test('nothing out of reach is read or changed, whoever asks for whatever', async () => {
  console.log(`AW_FUZZ_SEED=${seed}`)
  const tally = { asked: 0, done: 0 }
  await fc.assert(
    fc.asyncProperty(who, fc.array(step, { minLength: 10, maxLength: 40 }), async (they, steps) => {
      await using core = memoryCore().manager
      const made = await populated(core)
      const patterns = they.patterns.map((one) => (typeof one === 'string' ? one : (made[one.nth]?.id ?? '')))
      const principal: Principal = { actor: 'token:tok_x', scopes: they.scopes, workspaces: patterns }
      const manager = limited(core, principal, facts)
      for (const each of steps) {
        const [known, before] = [await all(core), await historyOf(core)]
        const others = known.filter((one) => !isTheirs(patterns, one))
        const input = inputOf(each, made)
        const { ok, text } = await answerOf(manager, each.operation, input)
        tally.asked += 1
        if (ok) tally.done += 1
        const what = `${patterns.join()} asks for ${each.operation.name} ${JSON.stringify(input)}: ${text.slice(0, 1500)}`
        expect(ok && !principal.scopes.includes(each.operation.scope), `on ${what}`).toBe(false)
        const after = await historyOf(core)
        for (const { id, name } of others) {
          expect(after.get(id), `${what} changed ${name}`).toBe(before.get(id))
          expect(text.includes(secretOf(id)), `${what} tells what ${name} holds`).toBe(false)
          if (!JSON.stringify(input).includes(id)) expect(text.includes(id), `${what} tells of ${name}`).toBe(false)
        }
        expect(after.get('home'), `on ${what}`).toBe(before.get('home'))
        for (const one of await all(core))
          if (!known.some(({ id }) => id === one.id))
            expect(isTheirs(patterns, one), `${what} made ${one.name}`).toBe(true)
      }
    }),
    { numRuns: runs, seed, endOnFailure: true },
  )
  console.log(`${tally.asked} asked, ${tally.done} done`)
  expect(tally.done).toBeGreaterThan(tally.asked / 20)
})
