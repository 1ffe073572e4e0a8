import { expect, test } from 'vitest'
import { collect } from '../../test/support/collect.ts'
import { escapeInvalidUtf8 } from './escape-invalid-utf8.ts'

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const read = async (bytes: Uint8Array, size: number): Promise<Buffer> =>
  Buffer.concat(await collect(escapeInvalidUtf8(cut(bytes, size))))

test.each([1, 2, 3, 5, 100])('text in pieces of %d bytes is as it was', async (size) => {
  const text = Buffer.from('{"a":"é€🙂\ufffd"}\n{}\n')
  expect(await read(text, size)).toEqual(text)
})

test.each([1, 2, 3, 5, 100])('in pieces of %d bytes, what is no text is one half for each byte', async (size) => {
  const bytes = Buffer.concat([
    Buffer.from('["é'),
    Buffer.of(0xff),
    Buffer.from('","'),
    Buffer.of(0xc3),
    Buffer.from('€","'),
    Buffer.of(0xed, 0xa0, 0x80),
    Buffer.from('"]'),
  ])
  const value = JSON.parse((await read(bytes, size)).toString()) as string[]
  expect(value).toEqual(['é\udcff', '\udcc3€', '\udced\udca0\udc80'])
})

test('what ends in the middle of a character is not text either', async () => {
  expect((await read(Buffer.of(0x61, 0xe2, 0x82), 1)).toString()).toBe(String.raw`a\udce2\udc82`)
})

test.each([1, 2, 100])('in pieces of %d bytes, a backslash does not turn what is no text into text', async (size) => {
  const bytes = Buffer.concat([Buffer.from('{"path":"a\\'), Buffer.of(0xff), Buffer.from('"}')])
  const text = (await read(bytes, size)).toString()
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError)
})
