import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AwError } from '../../../domain/errors.ts'
import {
  decodeTags,
  encodeFrame,
  encodeTags,
  type Frame,
  frameReader,
  maxFrameBytes,
  numberTag,
  readFailure,
  readUint32,
} from './frames.ts'

const anyFrame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  id: fc.integer({ min: 0, max: 0xffff_ffff }),
  payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
})

/** Cuts bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('frames', () => {
  it('arrive as they were sent, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 30 }), (frames, places) => {
        const sent = Buffer.concat(frames.map(({ type, id, payload }) => encodeFrame(type, id, payload)))
        const read = frameReader()
        expect(cut(sent, places).flatMap((part) => read(part))).toEqual(frames)
      }),
    )
  })

  it('of anything else is an error with a code, or waits for more; it never reads beyond what came', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.array(fc.nat(), { maxLength: 5 }), (bytes, places) => {
        const read = frameReader()
        const frames: Frame[] = []
        try {
          for (const part of cut(Buffer.from(bytes), places)) frames.push(...read(part))
        } catch (error) {
          expect(error).toEqual(expect.objectContaining({ code: 'sandbox_gone' }))
        }
        expect(frames.reduce((sum, { payload }) => sum + 9 + payload.length, 0)).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  it.each([0, 4, maxFrameBytes + 1, 0xffff_ffff])(
    'of %i bytes are refused at once, before they have come',
    (length) => {
      const head = Buffer.alloc(4)
      head.writeUInt32LE(length)
      expect(() => frameReader()(head)).toThrow(AwError)
    },
  )

  it('are not made longer than they may be', () => {
    expect(encodeFrame(1, 1, Buffer.alloc(maxFrameBytes - 5)).length).toBe(4 + maxFrameBytes)
    expect(() => encodeFrame(1, 1, Buffer.alloc(maxFrameBytes - 4))).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    )
  })
})

describe('tagged strings', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0') && value.isWellFormed())

  it('arrive as they were sent, in order among those of one tag', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'e', 'd'), text)), (tags) => {
        const decoded = decodeTags(encodeTags(tags))
        for (const tag of ['a', 'e', 'd']) {
          expect(decoded.get(tag) ?? []).toEqual(tags.filter(([name]) => name === tag).map(([, value]) => value))
        }
      }),
    )
  })

  it('are not cut short by a NUL byte of the caller', () => {
    expect(() => encodeTags([['a', 'one\0two']])).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })

  it('of anything else are an error with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const payload = Buffer.from(bytes)
        for (const read of [decodeTags, readUint32, readFailure, (data: Buffer) => numberTag(decodeTags(data), 'a')]) {
          try {
            read(payload)
          } catch (error) {
            expect(error).toEqual(expect.objectContaining({ code: 'sandbox_gone' }))
          }
        }
      }),
    )
    for (const broken of ['a', 'ab\0c', '\0', 'a\0\0']) expect(() => decodeTags(Buffer.from(broken))).toThrow(AwError)
    for (const broken of ['', '-1', '1e3', '0x1', '99999999999999999', ' 1']) {
      expect(() => numberTag(decodeTags(encodeTags([['a', broken]])), 'a')).toThrow(AwError)
    }
  })
})
