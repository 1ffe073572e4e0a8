import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AwError } from '../errors.ts'
import { formatHeader } from './header.ts'
import { newInput } from './input.ts'
import { defaultLimits } from './limits.ts'
import { newManifest } from './manifest.ts'
import { encodeMember, endOfArchive, type Member } from './member.ts'
import { readArchive } from './read-archive.ts'
import { padded } from './tar-header.ts'

/** Bytes, one character each: everything that can be in a name. */
const byte = fc.integer({ min: 1, max: 255 }).filter((code) => code !== 0x2f)
const name = fc
  .array(byte, { minLength: 1, maxLength: 200 })
  .map((codes) => String.fromCharCode(...codes))
  .filter((text) => text !== '.' && text !== '..')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const target = fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 300 })
const value = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 50 })
const text = (codes: number[]): string => String.fromCharCode(...codes)

const attributes = fc
  .array(fc.tuple(fc.string({ minLength: 1, unit: 'binary-ascii' }), value), { maxLength: 3 })
  .map((pairs) => new Map(pairs.map(([key, codes]) => [`user.${key.replaceAll('\0', '')}`, text(codes)])))

const common = {
  path,
  mode: fc.integer({ min: 0, max: 0o7777 }),
  uid: fc.integer({ min: 0, max: 2 ** 32 - 2 }),
  gid: fc.integer({ min: 0, max: 2 ** 32 - 2 }),
  mtimeNs: fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }),
  size: fc.constant(0),
  target: fc.constant(''),
  major: fc.constant(0),
  minor: fc.constant(0),
  attributes,
  sparse: fc.constant(false),
}

const member: fc.Arbitrary<Member> = fc.oneof(
  fc.record({ ...common, kind: fc.constant('file'), size: fc.integer({ min: 0, max: 1500 }) }),
  fc.record({ ...common, kind: fc.constantFrom('directory', 'fifo') }),
  fc.record({ ...common, kind: fc.constant('symlink'), target: target.map(text) }),
  fc.record({
    ...common,
    kind: fc.constantFrom('char', 'block'),
    major: fc.integer({ min: 0, max: 4095 }),
    minor: fc.integer({ min: 0, max: 1_048_575 }),
  }),
)

const contentOf = ({ size, mode }: Member): Buffer => Buffer.alloc(size, String(mode))

function write(members: readonly Member[]): Buffer {
  const header = formatHeader({ made_by: 'a test' })
  const manifest = newManifest(header)
  const parts: Buffer[] = []
  const put = (one: Member, content: Buffer): void => {
    parts.push(encodeMember(one, content.length), content, Buffer.alloc(padded(content.length) - content.length))
  }
  const ours = (at: string, content: Buffer): void => put({ ...plain, path: at, size: content.length }, content)
  ours('.aw-archive/header.json', header)
  for (const one of members) {
    put(one, contentOf(one))
    manifest.add(one, one.kind === 'file' ? hash('sha256', contentOf(one)) : '')
  }
  ours('.aw-archive/manifest', manifest.seal().bytes)
  return Buffer.concat([...parts, endOfArchive])
}

const plain: Member = {
  path: '',
  kind: 'file',
  mode: 0o644,
  uid: 0,
  gid: 0,
  mtimeNs: 0n,
  size: 0,
  target: '',
  major: 0,
  minor: 0,
  attributes: new Map(),
  sparse: false,
}

/** In chunks of any size. */
function read(bytes: Buffer, chunk: number) {
  const found: { member: Member; content: string }[] = []
  const input = newInput()
  const steps = readArchive(
    input,
    {
      begin({ member }) {
        const one = { member, content: '' }
        found.push(one)
        return (data) => void (one.content += data.toString('latin1'))
      },
    },
    defaultLimits,
    { entries: 0, bytes: 0 },
  )
  steps.next()
  for (let at = 0; at < bytes.length; at += chunk) {
    input.push(bytes.subarray(at, at + chunk))
    steps.next()
  }
  input.end()
  const { done, value } = steps.next()
  expect(done).toBe(true)
  return { found, header: (value as { header: unknown }).header }
}

const byPath = (members: readonly Member[]): Member[] =>
  [...new Map(members.map((one) => [one.path, one])).values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))

it('whatever is written is read again, however it comes', () => {
  fc.assert(
    fc.property(fc.array(member, { maxLength: 8 }), fc.integer({ min: 1, max: 3000 }), (members, chunk) => {
      const sorted = byPath(members)
      const { found, header } = read(write(sorted), chunk)
      expect(header).toMatchObject({ made_by: 'a test' })
      expect(found.map((one) => one.member)).toEqual(sorted)
      expect(found.map((one) => one.content)).toEqual(sorted.map((one) => contentOf(one).toString('latin1')))
    }),
  )
})

it('with other bytes it is refused, or is not one of ours any more, or they mean the same', () => {
  const members = byPath([
    { ...plain, path: 'a', size: 700, mtimeNs: 1n },
    { ...plain, path: 'b', kind: 'directory' },
  ])
  const whole = write(members)
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255))
  const length = fc.oneof(fc.constant(whole.length), fc.nat(whole.length))
  let refusals = 0
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), length, (changes, end) => {
      const bytes = Buffer.from(whole)
      for (const [at, to] of changes) bytes.writeUInt8(to, at)
      try {
        const { found, header } = read(bytes.subarray(0, end), 512)
        // Two changes can make up for each other in the sum of the first head: then it is a plain archive of somebody.
        if (header === null) return
        expect([end, found.map((one) => one.member)]).toEqual([whole.length, members])
      } catch (error) {
        if (!(error instanceof AwError)) throw error
        refusals += 1
      }
    }),
    { numRuns: 1000 },
  )
  expect(refusals).toBeGreaterThan(500)
})
