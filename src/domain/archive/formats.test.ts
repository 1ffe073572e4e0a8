import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { manifestLine, newManifest, pathAt } from './manifest.ts'
import type { Member } from './member.ts'
import { archivePath } from './paths.ts'
import { decodePax, encodePax, formatTime, isText, parseTime } from './pax.ts'
import { encodeSparseMap, joinSegments, type Segment, sparseMapReader } from './sparse-map.ts'
import { decodeHeader, encodeHeader, splitName } from './tar-header.ts'

const bytes = (most: number): fc.Arbitrary<string> =>
  fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: most }).map((codes) => String.fromCharCode(...codes))

describe('headers', () => {
  const name = bytes(100).map((text) => text.replaceAll('\0', '') || 'x')
  const header = fc.record({
    name,
    type: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', 'x'),
    mode: fc.integer({ min: 0, max: 0o7777 }),
    uid: fc.integer({ min: 0, max: 0o7777777 }),
    gid: fc.integer({ min: 0, max: 0o7777777 }),
    size: fc.integer({ min: 0, max: 0o77777777777 }),
    mtime: fc.integer({ min: 0, max: 0o77777777777 }),
    linkName: name,
    major: fc.integer({ min: 0, max: 0o7777777 }),
    minor: fc.integer({ min: 0, max: 0o7777777 }),
  })

  it('are read as they were written', () => {
    fc.assert(
      fc.property(header, (one) => {
        const isDevice = one.type === '3' || one.type === '4'
        expect(decodeHeader(encodeHeader(one))).toEqual({ ...one, ...(!isDevice && { major: 0, minor: 0 }) })
      }),
    )
  })

  it('with a bit changed are refused', () => {
    fc.assert(
      fc.property(header, fc.nat(511), fc.nat(7), (one, at, bit) => {
        fc.pre(at < 148 || at >= 156)
        const block = encodeHeader(one)
        block.writeUInt8(block.readUInt8(at) ^ (1 << bit), at)
        expect(() => decodeHeader(block)).toThrow('its sum is wrong')
      }),
    )
  })

  it('divide a long name where it can be put together again', () => {
    fc.assert(
      fc.property(
        fc.array(
          bytes(120).map((text) => text.replaceAll('/', '') || 'x'),
          { minLength: 1 },
        ),
        (names) => {
          const whole = names.join('/')
          const divided = splitName(whole)
          if (divided === undefined) return expect(whole.length).toBeGreaterThan(100)
          const [prefix, rest] = divided
          expect(prefix === '' ? rest : `${prefix}/${rest}`).toBe(whole)
          expect([prefix.length <= 155, rest.length <= 100, rest.length > 0]).toEqual([true, true, true])
        },
      ),
    )
  })
})

describe('extended headers', () => {
  const key = bytes(20).map((text) => text.replaceAll('=', '') || 'k')

  it('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, bytes(2000))), (records) => {
        expect(decodePax(encodePax(records))).toEqual(new Map(records))
      }),
    )
  })

  it.each([
    '9 a=b',
    '0 a=b\n',
    '99 a=b\n',
    '6 a=b\n7',
    '5 ab\n',
    '5 =b\n',
    ' a=b\n',
    '-6 a=b\n',
    '6 a=bc',
    '1e1 aa=bb\n',
  ])('are refused: %j', (text) => {
    expect(() => decodePax(Buffer.from(text))).toThrow('damaged')
  })

  it('tell times to the nanosecond, also before 1970', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(9n * 10n ** 27n), max: 9n * 10n ** 27n }), (ns) => {
        expect(parseTime(formatTime(ns))).toBe(ns)
      }),
    )
    expect(formatTime(-500_000_000n)).toBe('-0.5')
    for (const text of ['', '1e3', '1.2.3', '99999999999999999999', ' 1'])
      expect(() => parseTime(text)).toThrow('not a number')
  })

  it('know text from other bytes', () => {
    expect(['plain', 'Ã¤', 'ä', '\xff'].map(isText)).toEqual([true, true, false, false])
  })
})

describe('maps of holes', () => {
  const segments = fc
    .array(fc.tuple(fc.nat(10_000), fc.integer({ min: 1, max: 10_000 })), { maxLength: 200 })
    .map((gaps) => {
      let end = 0
      return gaps.map(([gap, length]): Segment => {
        const offset = end + gap
        end = offset + length
        return { offset, length }
      })
    })

  it('are read as they were written', () => {
    fc.assert(
      fc.property(segments, fc.nat(1000), (all, rest) => {
        const last = all.at(-1)
        const size = (last ? last.offset + last.length : 0) + rest
        const map = encodeSparseMap(all, size)
        const reader = sparseMapReader(size)
        let found: readonly Segment[] | undefined
        for (let at = 0; at < map.length; at += 512) {
          expect(found).toBeUndefined()
          found = reader.push(map.subarray(at, at + 512))
        }
        expect(found?.filter(({ length }) => length > 0)).toEqual(all)
      }),
    )
  })

  it('are joined until there are few enough, and lose nothing', () => {
    fc.assert(
      fc.property(segments, fc.integer({ min: 1, max: 20 }), (all, most) => {
        const joined = joinSegments(all, most)
        expect(joined.length).toBeLessThanOrEqual(Math.max(most, 1))
        for (const { offset, length } of all)
          expect(joined.some((one) => one.offset <= offset && one.offset + one.length >= offset + length)).toBe(true)
      }),
    )
  })
})

test.each([
  ['a/b', 'a/b'],
  ['./a//b/', 'a/b'],
  ['./', '.'],
  ['.', '.'],
  ['a/./b', 'a/b'],
  ['..a/b..', '..a/b..'],
])('the path of %s is %s', (name, path) => {
  expect(archivePath(name, { pathBytes: 100, depth: 5 })).toBe(path)
})

test.each(['', '/', '/a', '..', 'a/..', '../a', 'a/../b', './..', 'a\0', 'n'.repeat(256)])('%j is no path', (name) => {
  expect(() => archivePath(name, { pathBytes: 1000, depth: 5 })).toThrow('cannot be used')
})

describe('the manifest', () => {
  const file: Member = {
    path: 'a b',
    kind: 'file',
    mode: 0o644,
    uid: 1,
    gid: 2,
    mtimeNs: 3n,
    size: 4,
    target: '',
    major: 0,
    minor: 0,
    attributes: new Map(),
    sparse: false,
  }

  it('has a line for each', () => {
    expect(manifestLine(file, 'hash')).toBe('a%20b f 644 1 2 3 4 hash -')
    expect(manifestLine({ ...file, kind: 'symlink', target: 'x y' }, '')).toBe('a%20b l 644 1 2 3 4 x%20y -')
    expect(manifestLine({ ...file, kind: 'hardlink', target: 'x' }, '')).toBe('a%20b h 0 0 0 0 0 x -')
    expect(manifestLine({ ...file, kind: 'char', size: 0, major: 1, minor: 3 }, '')).toBe('a%20b c 644 1 2 3 0 1:3 -')
    const attributes = new Map([
      ['user.b', '2'],
      ['user.a', '1'],
    ])
    const reversed = new Map([...attributes].reverse())
    expect(manifestLine({ ...file, attributes }, 'hash')).toBe(manifestLine({ ...file, attributes: reversed }, 'hash'))
    expect(manifestLine({ ...file, attributes }, 'hash')).toMatch(/ hash [0-9a-f]{64}$/)
  })

  it('ends with its hash, and tells what a byte in it is about', () => {
    const manifest = newManifest(Buffer.from('{}'))
    manifest.add(file, 'hash')
    const { bytes: whole, digest } = manifest.seal()
    const lines = whole.toString().split('\n')
    expect(lines).toHaveLength(5)
    expect(lines[3]).toBe(`sha256 ${digest}`)
    expect(pathAt(whole, whole.indexOf('644'))).toBe('a%20b')
    expect([pathAt(whole, 0), pathAt(whole, whole.length + 10)]).toEqual(['aw-archive-manifest', ''])
  })
})
